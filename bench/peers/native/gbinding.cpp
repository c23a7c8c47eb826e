// SPDX-License-Identifier: MIT
// GObject: properties with notify, derived by GBinding with a transformation.
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

static GParamSpec *value_spec;

G_DEFINE_TYPE(Cell, cell, G_TYPE_OBJECT)

static void cell_set(Cell *n, int64_t value)
{
	if (n->value == value)
		return;
	n->value = value;
	g_object_notify_by_pspec(G_OBJECT(n), value_spec);
}

static void set_property(GObject *object, guint, const GValue *value,
			 GParamSpec *)
{
	cell_set(reinterpret_cast<Cell *>(object), g_value_get_int64(value));
}

static void get_property(GObject *object, guint, GValue *value, GParamSpec *)
{
	g_value_set_int64(value, reinterpret_cast<Cell *>(object)->value);
}

static void cell_init(Cell *)
{
}

static void cell_class_init(CellClass *klass)
{
	GObjectClass *object_class = G_OBJECT_CLASS(klass);

	object_class->set_property = set_property;
	object_class->get_property = get_property;
	value_spec = g_param_spec_int64(
		"value", nullptr, nullptr, G_MININT64, G_MAXINT64, 0,
		GParamFlags(G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY |
			    G_PARAM_STATIC_STRINGS));
	g_object_class_install_property(object_class, 1, value_spec);
}

struct gbinding {
	using node = Cell;

	static node *source()
	{
		return static_cast<node *>(
			g_object_new(cell_get_type(), nullptr));
	}

	static gboolean add_one(GBinding *, const GValue *from, GValue *to,
				gpointer)
	{
		g_value_set_int64(to, g_value_get_int64(from) + 1);
		return TRUE;
	}

	static node *derived(node *input)
	{
		node *n = source();

		g_object_bind_property_full(input, "value", n, "value",
					    G_BINDING_SYNC_CREATE, add_one,
					    nullptr, nullptr, nullptr);
		return n;
	}

	struct join {
		std::vector<node *> inputs;
		node *owner;
	};

	static void add_up(GObject *, GParamSpec *, gpointer ctx)
	{
		auto j = static_cast<join *>(ctx);
		int64_t sum = 0;

		for (node *input : j->inputs)
			sum += input->value;
		evaluations++;
		cell_set(j->owner, sum);
	}

	static node *sum(node *const *inputs, size_t count)
	{
		auto j = new join{{inputs, inputs + count}, source()};

		for (node *input : j->inputs)
			g_signal_connect(input, "notify::value",
					 G_CALLBACK(add_up), j);
		return j->owner;
	}

	static void add_to_sink(GObject *object, GParamSpec *, gpointer)
	{
		sink += reinterpret_cast<node *>(object)->value;
	}

	static void follow(node *n)
	{
		g_signal_connect(n, "notify::value", G_CALLBACK(add_to_sink),
				 nullptr);
	}

	static void set(node *n, int64_t value)
	{
		cell_set(n, value);
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
			n, g_signal_connect(n, "notify::value",
					    G_CALLBACK(add_to_sink), nullptr));
	}
};

const peer the_peer = make_peer<gbinding>(
	"GBinding", PEER_VERSION,
	"properties bound one to one; joins are written by hand; no batch over "
	"objects; a value is boxed on each hop");
