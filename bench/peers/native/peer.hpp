// SPDX-License-Identifier: MIT
//
// What a peer is: the shapes of bench/speed, done with another library.
//
// A peer is a class with static functions; make_peer<>() makes the shapes of
// it.  They are templates so that a library that is headers alone has what it
// would have in a program: its calls inlined.
//
//	struct node;				what can be followed
//	static node *source();			holds 0
//	static node *derived(node *);		its value + 1
//	static node *sum(node *const *, size_t);  calls counted in `evaluations`
//	static void follow(node *);		adds what comes to the sink
//	static void set(node *, int64_t);	of a source
//	static int64_t get(node *);
//	static void destroy(node *);		a source without followers
//	static void destroy_derived(node *);	the same
//	static void begin(), end();		a batch; empty if there is none
//	static void subscribe_once(node *);	and unsubscribe again
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {
#include "lib/measure.h"
#include "speed/cases.h"
#include "speed/floor.h"
}

// How often functions that sum up were called; of diamonds.
inline uint64_t evaluations;

struct shapes {
	void *(*open)(const speed_case *);
	void (*set)(void *, uint64_t);
	void (*get)(void *, uint64_t);
	void (*batch)(void *, uint64_t);
	void (*create)(void *, uint64_t);
	void (*derive)(void *, uint64_t);
	void (*subscribe)(void *, uint64_t);
	void (*close)(void *);
	// Bytes of a source, a derived cell, a subscriber; over `count`.
	void (*bytes)(size_t count, double *ret_bytes);
	int64_t *(*value_of)(void *); // what was set last
};

struct peer {
	const char *name;
	const char *version;
	// How it differs from a graph of cells: told with every result.
	const char *note;
	// Names of benches that it cannot do, or whose shape it does not fit,
	// each with a space behind it.
	const char *without;
	struct shapes shapes;
};

extern const peer the_peer;

template <typename P> struct made {
	using node = typename P::node;

	std::vector<node *> sources;
	int64_t value = 0;

	node *source()
	{
		sources.push_back(P::source());
		return sources.back();
	}

	void chain(size_t size)
	{
		node *n = source();

		while (size--)
			n = P::derived(n);
		P::follow(n);
	}

	void fan(size_t size)
	{
		node *n = source();

		while (size--)
			P::follow(n);
	}

	void diamond(size_t size)
	{
		std::vector<node *> sides;
		node *n = source();

		while (size--)
			sides.push_back(P::derived(n));
		P::follow(P::sum(sides.data(), sides.size()));
	}

	void batch(size_t size)
	{
		while (size--)
			P::follow(P::derived(source()));
	}

	static void *open(const speed_case *c)
	{
		auto m = new made;

		switch (c->name[0]) {
		case 'm': // map_1
			m->chain(1);
			break;
		case 'c': // chain_N, create
			if (c->name[1] == 'h')
				m->chain(c->size);
			else
				m->fan(1);
			break;
		case 'f':
			m->fan(c->size);
			break;
		case 'd': // diamond_N, derive
			if (c->name[1] == 'i')
				m->diamond(c->size);
			else
				m->fan(1);
			break;
		case 'b':
			m->batch(c->size);
			break;
		default:
			m->fan(1);
		}
		return m;
	}

	static int64_t *value_of(void *state)
	{
		return &static_cast<made *>(state)->value;
	}

	static void set(void *state, uint64_t times)
	{
		auto m = static_cast<made *>(state);
		node *n = m->sources[0];

		while (times--)
			P::set(n, ++m->value);
	}

	static void get(void *state, uint64_t times)
	{
		node *n = static_cast<made *>(state)->sources[0];

		while (times--)
			sink = P::get(n);
	}

	static void batch(void *state, uint64_t times)
	{
		auto m = static_cast<made *>(state);

		while (times--) {
			m->value++;
			P::begin();
			for (node *n : m->sources)
				P::set(n, m->value);
			P::end();
		}
	}

	static void create(void *, uint64_t times)
	{
		while (times--)
			P::destroy(P::source());
	}

	static void derive(void *state, uint64_t times)
	{
		node *n = static_cast<made *>(state)->sources[0];

		while (times--)
			P::destroy_derived(P::derived(n));
	}

	static void subscribe(void *state, uint64_t times)
	{
		node *n = static_cast<made *>(state)->sources[0];

		while (times--)
			P::subscribe_once(n);
	}

	// What was made stays: the process ends soon.
	static void close(void *state)
	{
		delete static_cast<made *>(state);
	}

	static void bytes(size_t count, double *ret_bytes)
	{
		std::vector<node *> nodes(count), derived(count);
		double at[4];

		at[0] = resident_bytes();
		for (auto &n : nodes)
			n = P::source();
		at[1] = resident_bytes();
		for (size_t i = 0; i < count; i++)
			derived[i] = P::derived(nodes[i]);
		at[2] = resident_bytes();
		for (node *n : derived)
			P::follow(n);
		at[3] = resident_bytes();
		for (int i = 0; i < 3; i++)
			ret_bytes[i] = (at[i + 1] - at[i]) / double(count);
	}
};

template <typename P>
constexpr peer make_peer(const char *name, const char *version,
			 const char *note, const char *without = "")
{
	using m = made<P>;

	return {name,
		version,
		note,
		without,
		{m::open, m::set, m::get, m::batch, m::create, m::derive,
		 m::subscribe, m::close, m::bytes, m::value_of}};
}
