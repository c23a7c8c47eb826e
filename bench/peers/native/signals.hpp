// SPDX-License-Identifier: MIT
//
// Cells made of a C++ signal and a value, as a program would write them that
// has signals and no cells.  Before it is included: signal_t, connection_t
// and CONNECT(signal, slot).
#pragma once

struct signals {
	struct node {
		int64_t value = 0;
		signal_t changed;
	};

	struct derived_node : node {
		connection_t connection;
	};

	static void emit(node *n, int64_t value)
	{
		n->value = value;
		n->changed(value);
	}

	static node *source()
	{
		return new node;
	}

	static node *derived(node *input)
	{
		auto n = new derived_node;

		n->connection = CONNECT(input->changed, [n](int64_t value) {
			emit(n, value + 1);
		});
		return n;
	}

	static node *sum(node *const *inputs, size_t count)
	{
		auto n = new node;
		std::vector<node *> all(inputs, inputs + count);
		auto update = [n, all](int64_t) {
			int64_t sum = 0;

			for (node *input : all)
				sum += input->value;
			evaluations++;
			emit(n, sum);
		};

		for (node *input : all)
			CONNECT(input->changed, update);
		return n;
	}

	static void follow(node *n)
	{
		CONNECT(n->changed, [](int64_t value) { sink += value; });
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

		d->connection.disconnect();
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
		connection_t connection = CONNECT(
			n->changed, [](int64_t value) { sink += value; });

		connection.disconnect();
	}
};
