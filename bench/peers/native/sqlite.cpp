// SPDX-License-Identifier: MIT
// SQLite: triggers that update other rows, in memory.
// needs: sqlite3
// package: libsqlite3-dev
#include "peer.hpp"

#include <cstdio>
#include <cstdlib>
#include <sqlite3.h>
#include <string>

static sqlite3 *db;

static void run(const std::string &text)
{
	if (sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) ==
	    SQLITE_OK)
		return;
	fprintf(stderr, "sqlite: %s: %s\n", text.c_str(), sqlite3_errmsg(db));
	exit(EXIT_FAILURE);
}

static void to_sink(sqlite3_context *, int, sqlite3_value **values)
{
	sink += sqlite3_value_int64(values[0]);
}

// A cell is a table of one row.
struct sqlite {
	struct node {
		std::string name;
		sqlite3_stmt *write, *read;
	};

	static sqlite3_stmt *prepare(const std::string &text)
	{
		sqlite3_stmt *statement = nullptr;

		if (sqlite3_prepare_v3(db, text.c_str(), -1,
				       SQLITE_PREPARE_PERSISTENT, &statement,
				       nullptr) != SQLITE_OK) {
			fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
			exit(EXIT_FAILURE);
		}
		return statement;
	}

	static std::string next_name()
	{
		static int number;

		return std::to_string(++number);
	}

	static node *source()
	{
		if (!db) {
			sqlite3_open(":memory:", &db);
			sqlite3_create_function(db, "to_sink", 1, SQLITE_UTF8,
						nullptr, to_sink, nullptr,
						nullptr);
		}
		auto n = new node{"c" + next_name(), nullptr, nullptr};

		run("CREATE TABLE " + n->name + " (v INTEGER)");
		run("INSERT INTO " + n->name + " VALUES (0)");
		return n;
	}

	static void on_update(node *n, const std::string &action)
	{
		run("CREATE TRIGGER t" + next_name() + " AFTER UPDATE ON " +
		    n->name + " BEGIN " + action + "; END");
	}

	static node *derived(node *input)
	{
		node *n = source();

		on_update(input, "UPDATE " + n->name + " SET v = new.v + 1");
		return n;
	}

	static node *sum(node *const *inputs, size_t count)
	{
		node *n = source();
		std::string all = "0";

		for (size_t i = 0; i < count; i++)
			all += " + (SELECT v FROM " + inputs[i]->name + ")";
		for (size_t i = 0; i < count; i++)
			on_update(inputs[i],
				  "UPDATE " + n->name + " SET v = " + all);
		return n;
	}

	static void follow(node *n)
	{
		on_update(n, "SELECT to_sink(new.v)");
	}

	static void set(node *n, int64_t value)
	{
		if (!n->write)
			n->write = prepare("UPDATE " + n->name + " SET v = ?");
		sqlite3_bind_int64(n->write, 1, value);
		sqlite3_step(n->write);
		sqlite3_reset(n->write);
	}

	static int64_t get(node *n)
	{
		int64_t value;

		if (!n->read)
			n->read = prepare("SELECT v FROM " + n->name);
		sqlite3_step(n->read);
		value = sqlite3_column_int64(n->read, 0);
		sqlite3_reset(n->read);
		return value;
	}

	static void destroy(node *)
	{
	}
	static void destroy_derived(node *)
	{
	}
	static void begin()
	{
	}
	static void end()
	{
	}
	static void subscribe_once(node *)
	{
	}
};

const peer the_peer = make_peer<sqlite>(
	"sqlite", SQLITE_VERSION,
	"triggers in a database in memory, with prepared statements: a "
	"database, not a library of cells",
	"chain_100 chain_1000 fan_1000 fan_10000 batch_1000 create derive "
	"subscribe bytes ");
