// SPDX-License-Identifier: MIT
//
// Tables of what run.sh measured, and why a peer is faster where it is.
//
//	node table.js results.jsonl
//
// Writes the floors that were measured beside hyphae into the lines of peers
// that had none, so that each line stands for itself.

import { readFileSync, writeFileSync } from "node:fs";

const file = process.argv[2];
const lines = readFileSync(file, "utf8").split("\n").filter(Boolean)
	.map((line) => JSON.parse(line));

// Lines of bench/speed and bench/reactivity name no peer: they are hyphae's.
const version = lines.find((l) => l.peer === "hyphae")?.version ?? "";

for (const line of lines) {
	if (!line.peer)
		Object.assign(line, { peer: "hyphae", version });
}

const shapes = lines.filter((l) => !l.suite && l.bench);
const reactivity = lines.filter((l) => l.suite);
const find = (bench, peer) =>
	shapes.find((l) => l.bench === bench && l.peer === peer);
const valueOf = (line) => line?.ns ?? line?.bytes;

for (const line of shapes) {
	const floor = find(line.bench, "hyphae")?.floor_ns;

	if (line.ns && floor && !line.floor_ns) {
		line.floor_ns = floor;
		line.ratio = Number((line.ns / floor).toPrecision(4));
	}
	line.note ??= "";
}
writeFileSync(file, lines.map((l) => JSON.stringify(l) + "\n").join(""));

// ---- why: by peer and the beginning of a bench; "" is any

const inlined = "its values are plain fields that the compiler reads in " +
	"place, without a call, a handle that is checked, or a type";
const list = "a set is no more than a loop over a list: no order, no " +
	"comparison with the old value, nothing that may change meanwhile";
const collected = "nothing is given back: the garbage collector does it " +
	"at another time, and most of what dies young costs nothing";
const intrusive = "the program has the memory, so that nothing is " +
	"allocated or checked";
const object = "one small block of malloc, without an id, a name or a " +
	"place where it was made";
const lazy = "a computed value is only an object until it is read";
const reasons = [
	["wl_signal", "get", inlined],
	["wl_signal", "create", object],
	["wl_signal", "derive", object],
	["wl_signal", "subscribe", intrusive],
	["wl_signal", "bytes", intrusive],
	["wl_signal", "batch", "it has no batch, and " + list],
	["wl_signal", "", list],
	["wl_signal-mutable", "get", inlined],
	["wl_signal-mutable", "create", object],
	["wl_signal-mutable", "derive", object],
	["wl_signal-mutable", "subscribe", intrusive],
	["wl_signal-mutable", "bytes", intrusive],
	["wl_signal-mutable", "", list],
	["QProperty", "subscribe",
		"a handler is an object on the stack of the program, linked " +
		"in place"],
	["QProperty", "create", object],
	["QProperty", "bytes_source", object],
	["rxjs", "derive", "a stage of a pipe is a closure and no cell"],
	["", "get", inlined],
	["", "batch", "it has no batch: each set is told at once, and nothing " +
		"is kept until all are there"],
	["", "create", object],
	["", "bytes", object],
	["", "fan", list],
	["", "", list],
];
const javascript = new Set(["alien-signals", "@preact/signals-core",
	"@vue/reactivity", "s-js", "solid-js", "mobx", "rxjs"]);

function why(peer, bench) {
	if (javascript.has(peer)) {
		if (bench === "get")
			return "the compiler inlines the read, and no handle " +
				"has to be checked";
		if (bench === "create")
			return collected;
		if (bench === "derive")
			return peer === "rxjs" ? "a stage of a pipe is a " +
				"closure and no cell" : lazy;
		if (bench === "subscribe")
			return collected;
	}
	return reasons.find(([who, what]) => (!who || who === peer) &&
		bench.startsWith(what))[2];
}

// ---- the tables

const round = (x) => (x === undefined ? "-" : x >= 100 ? x.toFixed(0)
	: x.toPrecision(3));
const pad = (text, width) => String(text).padStart(width);
const peers = [...new Set(shapes.map((l) => l.peer))];
const benches = [...new Set(shapes.map((l) => l.bench))];

function cell(bench, peer) {
	const line = find(bench, peer);
	const ours = valueOf(find(bench, "hyphae"));
	const mark = /GLITCHES/.test(line?.note) ? "!" : "";

	return mark + round(valueOf(line)) +
		(peer !== "hyphae" && valueOf(line) < ours ? "*" : " ");
}

function printShapes(chosen, title) {
	const width = 12;

	console.log(`\n${title}`);
	console.log("".padEnd(22) + chosen.map((b) =>
		pad(b.replace("bytes_", "").slice(0, width - 1) + " ", width))
		.join(""));
	console.log("by hand".padEnd(22) + chosen.map((b) =>
		pad(round(find(b, "hyphae")?.floor_ns) + " ", width)).join(""));
	for (const peer of peers)
		console.log(peer.padEnd(22) + chosen.map((b) =>
			pad(cell(b, peer), width)).join(""));
}

function printFaster() {
	console.log("\nWhere a peer is faster or smaller, and why:");
	for (const bench of benches) {
		const ours = valueOf(find(bench, "hyphae"));
		const byReason = new Map();

		for (const peer of peers) {
			const theirs = valueOf(find(bench, peer));

			if (peer === "hyphae" || !(theirs < ours))
				continue;
			const reason = why(peer, bench);
			const told = `${peer} ${round(theirs)}`;

			byReason.set(reason,
				[...(byReason.get(reason) ?? []), told]);
		}
		for (const [reason, told] of byReason)
			console.log(`  ${bench} (${round(ours)}): ` +
				`${told.join(", ")}: ${reason}.`);
	}
}

function printNotes() {
	console.log("\nWhat is compared:");
	for (const peer of peers) {
		const mine = shapes.filter((l) => l.peer === peer);
		const [first] = mine;
		const diamond = mine.find((l) => /^diamond/.test(l.bench));
		const note = diamond?.note || first.note;

		console.log(`  ${peer} ${first.version}${note ? ": " : ""}${note}`);
	}
}

function printReactivity() {
	const others = [...new Set(reactivity.map((l) => l.peer))]
		.filter((p) => p !== "hyphae");
	const at = (bench, peer, style) => reactivity.find((l) =>
		l.bench === bench && l.peer === peer && l.style === style);
	const names = [...new Set(reactivity.map((l) => l.bench))];

	console.log("\njs-reactivity-benchmark, ms (x: how many times ours, " +
		"tracked, is faster than the fastest of them)");
	console.log("".padEnd(26) + pad("tracked", 10) + pad("fixed", 10) +
		others.map((p) => pad(p, 22)).join("") + pad("x", 8));
	for (const name of names) {
		const ours = at(name, "hyphae", "tracked")?.ms;
		const theirs = others.map((p) => at(name, p)?.ms);
		const best = Math.min(...theirs.filter(Boolean));

		console.log(name.padEnd(26) + pad(round(ours), 10) +
			pad(round(at(name, "hyphae", "fixed")?.ms), 10) +
			theirs.map((ms) => pad(round(ms), 22)).join("") +
			pad(round(best / ours), 8) +
			(best < ours ? "  slower" : ""));
	}
}

printShapes(benches.filter((b) => !/^bytes|^create|^derive|^subscribe/
	.test(b)), "ns a set, a cell (chain) or a subscriber (fan); " +
	"*: faster than hyphae, !: glitches");
printShapes(benches.filter((b) => /^bytes|^create|^derive|^subscribe/.test(b)),
	"ns to make and release; bytes of a source, a derived cell, a subscriber");
printFaster();
printNotes();
if (reactivity.length)
	printReactivity();
