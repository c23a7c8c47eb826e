// SPDX-License-Identifier: MIT
//
// The shapes of js-reactivity-benchmark for two libraries of JavaScript, with
// the parameters that bench/reactivity has for hyphae, and the same checks.
//
//	node --expose-gc reactivity.js [--quick] LIBRARY [SUITE or SHAPE]...
//
// One line of JSON a shape.

import { load } from "./libraries.js";

// ---- what all shapes share

const args = process.argv.slice(2);
const quick = args[0] === "--quick" && !!args.shift();
const [name, ...asked] = args;
const lib = await load(name);
const { version } = lib;

const counts = { writes: 0, evaluations: 0, effects: 0 };
let last = 0, sum = 0;

function reset() {
	counts.writes = counts.evaluations = counts.effects = 0;
	sum = 0;
}

function computed(fn) {
	return lib.computed(() => {
		counts.evaluations++;
		return fn();
	});
}

function addEffect(cell) {
	lib.effect(() => {
		last = cell.read();
		sum += last;
		counts.effects++;
	});
}

function write(source, value) {
	counts.writes++;
	lib.batch(() => source.write(value));
}

function expect(is, expected) {
	if (is !== expected)
		throw new Error(`${name}: ${is}, and not ${expected}`);
}

const now = () => performance.now();

// The fastest of `runs` runs, after `warmUps` that are not timed.
function fastest(warmUps, runs, run) {
	let best = Infinity;

	for (let i = 0; i < warmUps; i++)
		run();
	for (let i = 0; i < (quick ? 1 : runs); i++) {
		reset();
		globalThis.gc?.();
		const start = now();

		run();
		best = Math.min(best, now() - start);
	}
	return best;
}

function tell(bench, suite, ms, text = "") {
	const { writes, evaluations, effects } = counts;

	console.log(JSON.stringify({
		bench, suite, peer: name, version, ms, writes,
		ns: writes ? (ms * 1e6) / writes : 0, evaluations, effects,
		sum: String(text),
	}));
}

// ---- kairo

function add(cell, number) {
	return computed(() => cell.read() + number);
}

function sumOf(cells) {
	addEffect(computed(() => {
		let total = 0;

		for (const cell of cells)
			total += cell.read();
		return total;
	}));
}

function busy() {
	let steps = 0;

	for (let i = 0; i < 100; i++)
		steps++;
	return steps;
}

// A round: write 1, then `count` writes; what the effect must see each time.
function rounds(head, one, count, seen) {
	return () => {
		write(head, 1);
		expect(last, one);
		for (let i = 0; i < count; i++) {
			write(head, i);
			expect(last, seen(i));
		}
	};
}

const kairo = {
	avoidablePropagation() {
		const head = lib.source(0);
		const first = add(head, 0);
		const zero = computed(() => (first.read(), 0));
		const worked = computed(() => (busy(), zero.read() + 1));

		addEffect(add(add(worked, 2), 3));
		return rounds(head, 6, 1000, () => 6);
	},
	broadPropagation() {
		const head = lib.source(0);

		for (let i = 0; i < 50; i++)
			addEffect(add(add(head, i), 1));
		return rounds(head, 51, 50, (i) => i + 50);
	},
	deepPropagation() {
		const head = lib.source(0);
		let cell = head;

		for (let i = 0; i < 50; i++)
			cell = add(cell, 1);
		addEffect(cell);
		return rounds(head, 51, 50, (i) => i + 50);
	},
	diamond() {
		const head = lib.source(0);

		sumOf(Array.from({ length: 5 }, () => add(head, 1)));
		return rounds(head, 10, 500, (i) => (i + 1) * 5);
	},
	mux() {
		const heads = Array.from({ length: 100 }, () => lib.source(0));
		const mux = computed(() =>
			Object.fromEntries(heads.map((h) => h.read()).entries()));

		for (let i = 0; i < 100; i++)
			addEffect(add(computed(() => mux.read()[i]), 1));
		return () => {
			for (const by of [1, 2]) {
				for (let i = 0; i < 10; i++) {
					write(heads[i], by * i);
					if (i)
						expect(last, by * i + 1);
				}
			}
		};
	},
	repeatedObservers() {
		const head = lib.source(0);

		sumOf(Array(30).fill(head));
		return rounds(head, 30, 100, (i) => 30 * i);
	},
	triangle() {
		const head = lib.source(0);
		const chain = [head];

		for (let i = 0; i < 10; i++)
			chain.push(add(chain[i], 1));
		sumOf(chain.slice(0, 10));
		return rounds(head, 55, 100, (i) => 45 + 10 * i);
	},
	unstable() {
		const head = lib.source(0);
		const twice = computed(() => head.read() * 2);
		const negative = computed(() => -head.read());

		addEffect(computed(() => {
			let total = 0;

			for (let i = 0; i < 20; i++)
				total += head.read() % 2 ? twice.read()
					: negative.read();
			return total;
		}));
		return rounds(head, 40, 100,
			(i) => 20 * (i % 2 ? 2 * i : -i));
	},
};

function runKairo(shape) {
	const round = kairo[shape]();
	const times = quick ? 2 : 500;

	tell(shape, "kairo", fastest(3, 10, () => {
		for (let i = 0; i < times; i++)
			round();
	}));
}

const fib = (n) => (n < 2 ? 1 : fib(n - 1) + fib(n - 2));
const hard = (n) => n + fib(16);

function runMolBench() {
	const a = lib.source(0), b = lib.source(0);
	const c = computed(() => (a.read() % 2) + (b.read() % 2));
	const d = computed(() => [0, 1, 2, 3, 4].map((i) => ({
		x: i + (a.read() % 2) - (b.read() % 2),
	})));
	const e = computed(() => hard(c.read() + a.read() + d.read()[0].x));
	const f = computed(() => hard(d.read()[2].x || b.read()));
	const g = computed(() => c.read() + (c.read() || e.read() % 2) +
		d.read()[4].x + f.read());
	const times = quick ? 20 : 500;

	const see = (cell, fn) => lib.effect(() => {
		sum += fn(cell.read());
		counts.effects++;
	});

	see(g, hard);
	see(g, (value) => value);
	see(f, hard);
	const ms = fastest(3, 10, () => {
		for (let i = 0; i < times; i++) {
			counts.writes += 4;
			lib.batch(() => (b.write(1), a.write(1 + 2 * i)));
			lib.batch(() => (a.write(2 + 2 * i), b.write(2)));
		}
	});
	tell("molBench", "kairo", ms, sum);
}

// ---- cellx

function runCellx(layers) {
	let ms = 0;

	for (let graph = 0; graph < (quick ? 1 : 10); graph++) {
		const heads = [1, 2, 3, 4].map((v) => lib.source(v));
		let ends = heads;
		const build = () => {
			for (let i = 0; i < layers; i++) {
				const [p1, p2, p3, p4] = ends;

				ends = [
					computed(() => p2.read()),
					computed(() => p1.read() - p3.read()),
					computed(() => p2.read() + p4.read()),
					computed(() => p3.read()),
				];
				ends.forEach(addEffect);
			}
		};
		const cleanup = lib.root(build);

		reset();
		globalThis.gc?.();
		const start = now();
		const before = ends.map((cell) => cell.read());

		lib.batch(() => heads.forEach((h, i) => h.write(4 - i)));
		const after = ends.map((cell) => cell.read());

		ms += now() - start;
		expect(before.join(), "-3,-6,-2,2");
		expect(after.join(), "-2,-4,2,3");
		cleanup();
	}
	const graphs = quick ? 1 : 10;

	counts.writes = 4 * graphs;
	counts.evaluations *= graphs;
	counts.effects *= graphs;
	tell(`cellx${layers}`, "cellx", ms);
}

// ---- dynamic graphs

function random(seed) {
	const rotate = (v, by) => (v << by) | (v >>> (32 - by));
	let h = 2166136261;

	for (const character of seed) {
		const k = Math.imul(character.charCodeAt(0), 3432918353);

		h ^= Math.imul(rotate(k, 15), 461845907);
		h = Math.imul(rotate(h, 13), 5) + 3864292196;
	}
	h ^= seed.length;
	const next = () => {
		h ^= h >>> 16;
		h = Math.imul(h, 2246822507);
		h ^= h >>> 13;
		h = Math.imul(h, 3266489909);
		return (h ^= h >>> 16) >>> 0;
	};
	let [a, b, c, d] = [next(), next(), next(), next()];

	return () => {
		let t = (a + b) | 0;

		a = b ^ (b >>> 9);
		b = (c + (c << 3)) | 0;
		c = rotate(c, 21);
		d = (d + 1) | 0;
		t = (t + d) | 0;
		c = (c + t) | 0;
		return (t >>> 0) / 4294967296;
	};
}

// width, layers, reads of a cell, share of fixed cells, share of the last row
// that is read, iterations, iterations of --quick
const rectangles = {
	"2-10x5-lazy80%": [10, 5, 2, 1, 0.2, 600000, 100],
	"6-10x10-dyn25%-lazy80%": [10, 10, 6, 0.75, 0.2, 15000, 100],
	"4-1000x12-dyn5%": [1000, 12, 4, 0.95, 1, 7000, 20],
	"25-1000x5": [1000, 5, 25, 1, 1, 3000, 10],
	"3-5x500": [5, 500, 3, 1, 1, 500, 5],
	"6-100x15-dyn50%": [100, 15, 6, 0.5, 1, 2000, 20],
};

function fixedCell(cells) {
	return computed(() => {
		let total = 0;

		for (const cell of cells)
			total += cell.read();
		return total;
	});
}

function choosingCell([first, ...rest]) {
	return computed(() => {
		let total = first.read();
		const leftOut = total & 1 ? total % rest.length : -1;

		for (let i = 0; i < rest.length; i++)
			if (i !== leftOut)
				total += rest[i].read();
		return total;
	});
}

function runRectangle(shape) {
	const [width, layers, reads, fixed, share, full, few] =
		rectangles[shape];
	const iterations = quick ? few : full;
	const sources = Array.from({ length: width }, (_, i) => lib.source(i));
	const draw = random("seed"), choose = random("seed");
	let row = sources;
	let total;

	for (let i = 1; i < layers; i++) {
		const above = row;

		row = above.map((_, j) => {
			const cells = Array.from({ length: reads },
				(_, k) => above[(j + k) % width]);

			return draw() < fixed ? fixedCell(cells)
				: choosingCell(cells);
		});
	}
	const leaves = row.slice();

	for (let i = Math.round(width * (1 - share)); i > 0; i--)
		leaves.splice(Math.floor(choose() * leaves.length), 1);
	lib.effect(() => {
		for (const leaf of leaves)
			leaf.read();
		counts.effects++;
	});
	// So few writes bring nothing new when they come again.
	const ms = fastest(quick ? 0 : 3, 5, () => {
		for (let i = 0; i < iterations; i++) {
			const at = i % width;

			write(sources[at], i + at);
			for (const leaf of leaves)
				leaf.read();
		}
		total = leaves.reduce((t, leaf) => t + leaf.read(), 0);
	});
	tell(shape, "dynamic", ms, total);
}

// ---- sbench: sources, effects, reads of each, effects that share, writes

const COUNT = 100000;
const plans = {
	createSignals: [COUNT, 0, 0, 1, 0],
	create0to1: [0, COUNT, 0, 1, 0],
	create1to1: [COUNT, COUNT, 1, 1, 0],
	create2to1: [COUNT, COUNT / 2, 2, 1, 0],
	create4to1: [COUNT, COUNT / 4, 4, 1, 0],
	create1000to1: [COUNT, COUNT / 1000, 1000, 1, 0],
	create1to2: [COUNT / 2, COUNT, 1, 2, 0],
	create1to4: [COUNT / 4, COUNT, 1, 4, 0],
	create1to8: [COUNT / 8, COUNT, 1, 8, 0],
	create1to1000: [COUNT / 1000, COUNT, 1, 1000, 0],
	update1to1: [1, 1, 1, 1, 4 * COUNT],
	update2to1: [2, 1, 2, 1, 2 * COUNT],
	update4to1: [4, 1, 4, 1, COUNT],
	update1000to1: [1000, 1, 1000, 1, COUNT / 250],
	update1to2: [1, 2, 1, 2, COUNT],
	update1to4: [1, 4, 1, 4, COUNT],
	update1to1000: [1, 1000, 1, 1000, COUNT / 10],
};

function readingEffect(sources, first, reads) {
	lib.effect(() => {
		let total = 0;

		for (let i = first; i < first + reads; i++)
			total += sources[i].read();
		sum += total;
		counts.effects++;
	});
}

function runPlan(shape) {
	let [count, effects, reads, shared, writes] = plans[shape];
	let best = Infinity;

	if (quick && writes)
		writes /= 50;
	else if (quick)
		[count, effects] = [count / 50, effects / 50];
	for (let run = 0; run < (quick ? 1 : 10); run++) {
		const sources = [];
		const make = (to) => {
			for (let i = 0; i < count; i++)
				to.push(lib.source(i));
		};

		if (effects)
			make(sources);
		for (let i = 0; i < 3; i++)
			for (const source of sources)
				source.read();
		reset();
		globalThis.gc?.();
		const start = now();
		const cleanup = lib.root(() => {
			for (let i = 0; i < effects; i++)
				readingEffect(sources,
					Math.floor(i / shared) * reads, reads);
			if (!effects)
				make(sources);
		});

		for (let i = 0; i < writes; i++)
			write(sources[0], i);
		cleanup();
		best = Math.min(best, now() - start);
	}
	expect(counts.effects, effects * (writes || 1));
	tell(shape, "sbench", best);
}

// ---- all of it

const suites = {
	kairo: [...Object.keys(kairo).map((s) => [s, () => runKairo(s)]),
		["molBench", runMolBench]],
	cellx: [1000, 2500].map((n) => [`cellx${n}`, () => runCellx(n)]),
	dynamic: Object.keys(rectangles).map((s) => [s, () => runRectangle(s)]),
	sbench: Object.keys(plans).map((s) => [s, () => runPlan(s)]),
};

for (const [suite, shapes] of Object.entries(suites))
	for (const [shape, run] of shapes)
		if (!asked.length || asked.includes(suite) ||
		    asked.includes(shape))
			run();
