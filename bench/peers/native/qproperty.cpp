// SPDX-License-Identifier: MIT
// QProperty of Qt 6: values with bindings that find what they read.
// needs: Qt6Core
// package: qt6-base-dev
#include "peer.hpp"

#include <QProperty>
#include <QtGlobal>
#include <memory>

using property = QProperty<qint64>;
static void add_to_sink(property *p)
{
	sink = sink + p->value();
}

struct qproperty {
	struct node {
		property value{0};
	};

	static node *source()
	{
		return new node;
	}

	static node *derived(node *input)
	{
		auto n = new node;

		n->value.setBinding(
			[input] { return input->value.value() + 1; });
		return n;
	}

	static node *sum(node *const *inputs, size_t count)
	{
		auto n = new node;
		std::vector<node *> all(inputs, inputs + count);

		n->value.setBinding([all] {
			qint64 sum = 0;

			for (node *input : all)
				sum += input->value.value();
			evaluations++;
			return sum;
		});
		return n;
	}

	static void follow(node *n)
	{
		property *p = &n->value;
		auto handler = [p] { add_to_sink(p); };

		new QPropertyChangeHandler<decltype(handler)>(
			p->onValueChanged(handler));
	}

	static void set(node *n, int64_t value)
	{
		n->value.setValue(value);
	}

	static int64_t get(node *n)
	{
		return n->value.value();
	}

	static void destroy(node *n)
	{
		delete n;
	}

	static void destroy_derived(node *n)
	{
		delete n;
	}

	static void begin()
	{
		Qt::beginPropertyUpdateGroup();
	}

	static void end()
	{
		Qt::endPropertyUpdateGroup();
	}

	static void subscribe_once(node *n)
	{
		property *p = &n->value;
		auto handler = p->onValueChanged([p] { add_to_sink(p); });

		(void)handler;
	}
};

const peer the_peer = make_peer<qproperty>(
	"QProperty", QT_VERSION_STR,
	"values with tracked bindings, computed at once and one by one; "
	"headers inline; one thread");
