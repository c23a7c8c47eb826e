// SPDX-License-Identifier: MIT
// wl_signal of libwayland: an intrusive list of listeners.
// needs: wayland-server
// package: libwayland-dev
#include "peer.hpp"

#include <wayland-server-core.h>
#include <wayland-version.h>

// A listener may remove any other, as long as the emission is the safe one.
#ifdef PEER_SAFE
#define EMIT wl_signal_emit_mutable
#else
#define EMIT wl_signal_emit
#endif

struct wl {
	struct node {
		wl_signal signal;
		int64_t value;
	};

	struct derived_node : node {
		wl_listener listener;
		int64_t (*map)(int64_t);
	};

	struct sum_node : node {
		std::vector<node *> inputs;
	};

	struct part {
		wl_listener listener;
		sum_node *owner;
	};

	static void emit(node *n, int64_t value)
	{
		n->value = value;
		EMIT(&n->signal, &n->value);
	}

	static node *source()
	{
		auto n = new node();

		wl_signal_init(&n->signal);
		return n;
	}

	static int64_t add_one(int64_t value)
	{
		return value + 1;
	}

	static void update(wl_listener *listener, void *data)
	{
		derived_node *n = wl_container_of(listener, n, listener);

		emit(n, n->map(*static_cast<int64_t *>(data)));
	}

	static node *derived(node *input)
	{
		auto n = new derived_node();

		wl_signal_init(&n->signal);
		n->map = add_one;
		n->listener.notify = update;
		wl_signal_add(&input->signal, &n->listener);
		return n;
	}

	static void add_up(wl_listener *listener, void *)
	{
		part *p = wl_container_of(listener, p, listener);
		int64_t sum = 0;

		for (node *input : p->owner->inputs)
			sum += input->value;
		evaluations++;
		emit(p->owner, sum);
	}

	static node *sum(node *const *inputs, size_t count)
	{
		auto n = new sum_node();

		wl_signal_init(&n->signal);
		n->inputs.assign(inputs, inputs + count);
		for (node *input : n->inputs)
			wl_signal_add(&input->signal,
				      &(new part{{{}, add_up}, n})->listener);
		return n;
	}

	static void add_to_sink(wl_listener *, void *data)
	{
		sink += *static_cast<int64_t *>(data);
	}

	static void follow(node *n)
	{
		wl_signal_add(&n->signal, new wl_listener{{}, add_to_sink});
	}

	static void set(node *n, int64_t value)
	{
		emit(n, value);
	}

	static int64_t get(node *n)
	{
		return n->value;
	}

	static void destroy(node *n)
	{
		delete n;
	}

	static void destroy_derived(node *n)
	{
		auto d = static_cast<derived_node *>(n);

		wl_list_remove(&d->listener.link);
		delete d;
	}

	static void begin()
	{
	}
	static void end()
	{
	}

	static void subscribe_once(node *n)
	{
		static wl_listener listener = {{}, add_to_sink};

		wl_signal_add(&n->signal, &listener);
		wl_list_remove(&listener.link);
	}
};

#ifdef PEER_SAFE
const peer the_peer = make_peer<wl>(
	"wl_signal-mutable", WAYLAND_VERSION,
	"a list of listeners: no values, no derived cells, no batch (written "
	"by hand); listeners may be removed while it emits");
#else
const peer the_peer = make_peer<wl>(
	"wl_signal", WAYLAND_VERSION,
	"a list of listeners, inlined: no values, no derived cells, no batch "
	"(written by hand); a listener that removes its neighbour is a use "
	"after free");
#endif
