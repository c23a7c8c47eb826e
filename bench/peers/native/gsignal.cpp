// SPDX-License-Identifier: MIT
// GObject: a signal with a long for an argument, the marshaller built in.
// needs: gobject-2.0
// package: libglib2.0-dev
#include "peer.hpp"

#include <glib-object.h>

struct Cell {
	GObject object;
	int64_t value;
};
struct CellClass {
	GObjectClass object_class;
};

static guint changed;

G_DEFINE_TYPE(Cell, cell, G_TYPE_OBJECT)

static void cell_init(Cell *)
{
}

static void cell_class_init(CellClass *klass)
{
	changed = g_signal_new("changed", G_TYPE_FROM_CLASS(klass),
			       G_SIGNAL_RUN_LAST, 0, nullptr, nullptr,
			       g_cclosure_marshal_VOID__LONG, G_TYPE_NONE, 1,
			       G_TYPE_LONG);
}

struct object_signals {
	using node = Cell;

	static void emit(node *n, int64_t value)
	{
		n->value = value;
		g_signal_emit(n, changed, 0, long(value));
	}

	static node *source()
	{
		return static_cast<node *>(
			g_object_new(cell_get_type(), nullptr));
	}

	static void update(Cell *, long value, gpointer ctx)
	{
		emit(static_cast<node *>(ctx), value + 1);
	}

	static node *derived(node *input)
	{
		node *n = source();

		g_signal_connect_object(input, "changed", G_CALLBACK(update), n,
					GConnectFlags(0));
		return n;
	}

	struct join {
		std::vector<node *> inputs;
		node *owner;
	};

	static void add_up(Cell *, long, gpointer ctx)
	{
		auto j = static_cast<join *>(ctx);
		int64_t sum = 0;

		for (node *input : j->inputs)
			sum += input->value;
		evaluations++;
		emit(j->owner, sum);
	}

	static node *sum(node *const *inputs, size_t count)
	{
		auto j = new join{{inputs, inputs + count}, source()};

		for (node *input : j->inputs)
			g_signal_connect(input, "changed", G_CALLBACK(add_up),
					 j);
		return j->owner;
	}

	static void add_to_sink(Cell *, long value, gpointer)
	{
		sink += value;
	}

	static void follow(node *n)
	{
		g_signal_connect(n, "changed", G_CALLBACK(add_to_sink),
				 nullptr);
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
		g_object_unref(n);
	}

	static void destroy_derived(node *n)
	{
		g_object_unref(n);
	}

	static void begin()
	{
	}
	static void end()
	{
	}

	static void subscribe_once(node *n)
	{
		g_signal_handler_disconnect(
			n, g_signal_connect(n, "changed",
					    G_CALLBACK(add_to_sink), nullptr));
	}
};

const peer the_peer = make_peer<object_signals>(
	"GSignal", PEER_VERSION,
	"signals of objects: no derived cells, no batch (written by hand)");
