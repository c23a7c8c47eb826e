// SPDX-License-Identifier: MIT
//
// The shapes of bench/speed with a library of JavaScript.
//
//	node --expose-gc shapes.js [--quick|--once] LIBRARY SHAPE...
//
// A process for each shape, so that what the compiler learnt in one does not
// count in another.  One line of JSON a shape.

import { load } from "./libraries.js";

const args = process.argv.slice(2);
const effort = args[0]?.startsWith("--") ? args.shift() : "";
const [name, ...shapes] = args;
const lib = await load(name);
const count = (shape) => Number(/_(\d+)$/.exec(shape)?.[1] ?? 1);

// What subscribers add to: a field that is not constant-folded.
const G = { sink: 0 };
let evaluations = 0;
let fires = 0;

const toSink = (value) => {
	G.sink = (G.sink + value) | 0;
};
const addOne = (value) => value + 1;
const addUp = (values) => {
	let sum = 0;

	evaluations++;
	for (const value of values())
		sum += value;
	return sum;
};

// ---- the shapes: each gives what one run is, and how many units it has

function chain(size) {
	const source = lib.source(0);
	let node = source;

	while (size--)
		node = lib.map(node, addOne);
	lib.follow(node, toSink);
	return source;
}

function setter(source) {
	let value = 0;

	return () => source.write(++value);
}

const builders = {
	set: () => [setter(chain(0)), 1],
	get() {
		const source = chain(0);

		return [() => { G.sink = source.read(); }, 1];
	},
	map: () => [setter(chain(1)), 1],
	chain: (size) => [setter(chain(size)), size],
	fan(size) {
		const source = lib.source(0);

		for (let i = 0; i < size; i++)
			lib.follow(source, toSink);
		return [setter(source), size];
	},
	diamond(size) {
		const source = lib.source(0);
		const sides = Array.from({ length: size },
			() => lib.map(source, addOne));

		lib.follow(lib.join(sides, addUp), (value) => {
			fires++;
			toSink(value);
		});
		return [setter(source), 1];
	},
	batch(size) {
		const sources = Array.from({ length: size }, () => chain(1));
		let value = 0;

		return [() => {
			value++;
			lib.batch(() => {
				for (const source of sources)
					source.write(value);
			});
		}, size];
	},
	create: () => [() => { G.node = lib.source(0); }, 1],
	derive() {
		const source = lib.source(0);

		const make = () => { G.node = lib.map(source, addOne); };

		// What an owner would keep, the owner has to end.
		return [lib.owns ? () => lib.root(make)() : make, 1];
	},
	subscribe() {
		const source = lib.source(0);

		return [() => lib.follow(source, toSink)(), 1];
	},
};

// ---- measuring

const efforts = {
	"": { warmUpMs: 400, roundMs: 5, rounds: 21 },
	"--quick": { warmUpMs: 100, roundMs: 2, rounds: 9 },
	"--once": { warmUpMs: 0, roundMs: 0.01, rounds: 1 },
};
const { warmUpMs, roundMs, rounds } = efforts[effort];
const now = () => performance.now();

function timeRuns(run, times) {
	const start = now();

	for (let i = 0; i < times; i++)
		run();
	return now() - start;
}

function measure(run) {
	const warm = now();
	const took = [];
	let times = 1;

	while (timeRuns(run, times) < roundMs || now() - warm < warmUpMs)
		if (timeRuns(run, times) < roundMs)
			times *= 2;
	for (let i = 0; i < rounds; i++)
		took.push(timeRuns(run, times) / times);
	took.sort((a, b) => a - b);
	return took[rounds >> 1] * 1e6;
}

function tell(bench, what, value, note) {
	console.log(JSON.stringify({
		bench, peer: name, version: lib.version,
		[what]: Number(value.toPrecision(5)), note,
	}));
}

function diamondNote(run) {
	evaluations = fires = 0;
	run();
	const glitches = fires > 1
		? `GLITCHES: its subscriber is told ${fires} values a set; ` : "";

	return `${glitches}the join is computed ${evaluations} times a set`;
}

function measureShape(shape) {
	const build = builders[shape.split("_")[0]];
	let run, units;

	lib.root(() => {
		[run, units] = build(count(shape));
	});
	let note = shape.startsWith("diamond") ? diamondNote(run) : "";
	let ns;

	lib.root(() => {
		if (["derive", "subscribe", "create"].includes(shape))
			ns = measure(run);
	});
	ns ??= measure(run);
	if (shape === "derive" && !lib.owns)
		note = "made, but neither computed nor linked until it is read";
	tell(shape, "ns", ns / units,
		[lib.note, note].filter(Boolean).join("; "));
}

function measureBytes() {
	const many = effort === "--once" ? 1000 : 100000;
	const kept = [];
	const used = () => {
		globalThis.gc();
		globalThis.gc();
		return process.memoryUsage().heapUsed;
	};
	const grow = (make) => {
		const room = kept.push(new Array(many)) - 1;
		const before = used();

		for (let i = 0; i < many; i++)
			kept[room][i] = make(i);
		return (used() - before) / many;
	};

	lib.root(() => {
		const told = lib.note;

		tell("bytes_source", "bytes", grow(() => lib.source(0)), told);
		tell("bytes_derived", "bytes",
			grow((i) => lib.map(kept[0][i], addOne)), told);
		tell("bytes_subscription", "bytes",
			grow((i) => lib.follow(kept[1][i], toSink)), told);
	});
}

for (const shape of shapes) {
	if (shape === "bytes")
		measureBytes();
	else
		measureShape(shape);
}
