// SPDX-License-Identifier: MIT
//
// The libraries of JavaScript behind one face:
//
//	source(value)		{ read(), write(value) }
//	computed(fn)		{ read() }, made of what fn reads
//	effect(fn)		runs fn at once and when what it read changes;
//				returns what ends it
//	batch(fn)
//	root(fn)		everything of a program is made in it; returns
//				what ends the effects that were made
//	map(node, fn), join(nodes, fn), follow(node, fn)
//				where functions do not track what they read
//	owns			computed values live until their root ends
//	note			what is different

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const collecting = (effect) => {
	let ends = null;

	return {
		effect(fn) {
			const end = effect(() => void fn());

			ends?.push(end);
			return end;
		},
		root(fn) {
			const mine = (ends = []);

			fn();
			ends = null;
			return () => mine.forEach((end) => end());
		},
	};
};

const libraries = {
	async "alien-signals"() {
		const a = await import("alien-signals");

		return {
			source(value) {
				const s = a.signal(value);

				return { read: s, write: s };
			},
			computed: (fn) => ({ read: a.computed(fn) }),
			// What an effect returns is taken for its clean-up.
			effect: (fn) => a.effect(() => void fn()),
			batch(fn) {
				a.startBatch();
				fn();
				a.endBatch();
			},
			root: (fn) => a.effectScope(() => void fn()),
		};
	},

	async "@preact/signals-core"() {
		const p = await import("@preact/signals-core");

		return {
			source(value) {
				const s = p.signal(value);

				return {
					read: () => s.value,
					write: (v) => (s.value = v),
				};
			},
			computed(fn) {
				const c = p.computed(fn);

				return { read: () => c.value };
			},
			batch: p.batch,
			...collecting(p.effect),
		};
	},

	async "@vue/reactivity"() {
		const v = await import("@vue/reactivity");

		return {
			source(value) {
				const s = v.shallowRef(value);

				return {
					read: () => s.value,
					write: (to) => (s.value = to),
				};
			},
			computed(fn) {
				const c = v.computed(fn);

				return { read: () => c.value };
			},
			effect(fn) {
				const runner = v.effect(() => void fn());

				return () => v.stop(runner);
			},
			batch: (fn) => fn(),
			root(fn) {
				const scope = v.effectScope();

				scope.run(fn);
				return () => scope.stop();
			},
			note: "no batch outside of its own frameworks",
		};
	},

	async "s-js"() {
		const S = (await import("s-js")).default;

		return {
			source(value) {
				const s = S.data(value);

				return { read: s, write: s };
			},
			computed: (fn) => ({ read: S(fn) }),
			effect: (fn) => S.root((end) => (S(fn), end)),
			batch: S.freeze,
			root: (fn) => S.root((end) => (fn(), end)),
			owns: true,
			note: "computed values are never lazy, and have no " +
				"cut-off where they come out equal",
		};
	},

	async "solid-js"() {
		const s = await import("solid-js/dist/solid.js");

		return {
			source(value) {
				const [read, write] = s.createSignal(value);

				return { read, write };
			},
			computed: (fn) => ({ read: s.createMemo(fn) }),
			effect: (fn) => s.createRoot((end) => {
				s.createRenderEffect(fn);
				return end;
			}),
			batch: s.batch,
			root: (fn) => s.createRoot((end) => (fn(), end)),
			owns: true,
		};
	},

	async mobx() {
		const m = await import("mobx");

		m.configure({ enforceActions: "never" });
		return {
			source(value) {
				const s = m.observable.box(value, { deep: false });

				return { read: () => s.get(), write: (v) => s.set(v) };
			},
			computed(fn) {
				const c = m.computed(fn);

				return { read: () => c.get() };
			},
			batch: (fn) => m.runInAction(fn),
			...collecting(m.autorun),
		};
	},

	async rxjs() {
		const r = await import("rxjs");
		const subject = (s) => ({
			stream: s,
			read: () => s.getValue(),
			write: (v) => s.next(v),
		});

		return {
			source: (value) => subject(new r.BehaviorSubject(value)),
			map: (node, fn) => ({ stream: node.stream.pipe(r.map(fn)) }),
			join: (nodes, fn) => ({
				stream: r.combineLatest(nodes.map((n) => n.stream))
					.pipe(r.map((values) => fn(() => values))),
			}),
			follow(node, fn) {
				const s = node.stream.subscribe(fn);

				return () => s.unsubscribe();
			},
			batch: (fn) => fn(),
			root: (fn) => (fn(), () => {}),
			note: "streams: a map is a stage of a pipe and holds no " +
				"value, nothing is shared, no batch",
		};
	},
};

export const names = Object.keys(libraries);

export async function load(name) {
	const lib = await libraries[name]();
	const file = new URL(`node_modules/${name}/package.json`,
		import.meta.url);

	lib.name = name;
	lib.version = JSON.parse(readFileSync(fileURLToPath(file))).version;
	lib.note ??= "";
	lib.map ??= (node, fn) => lib.computed(() => fn(node.read()));
	lib.join ??= (nodes, fn) => lib.computed(
		() => fn(() => nodes.map((n) => n.read())));
	lib.follow ??= (node, fn) => lib.effect(() => fn(node.read()));
	return lib;
}
