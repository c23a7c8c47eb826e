// SPDX-License-Identifier: MIT
//
// Measures one peer: each of its shapes in turn with the work by hand of
// bench/speed, in one process on one processor.  One line of JSON a shape:
//
//	{"bench":s,"peer":s,"version":s,"ns":x,"floor_ns":x,"ratio":x,"note":s}
//
// With HYPHAE defined the peer is hyphae itself, by bench/speed.

#include "peer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HYPHAE
const peer the_peer = {"hyphae", HYPHAE_VERSION, "", "", {}};
#endif

static const char *const benches[] = {
	"set_1",      "get",	"map_1",    "chain_10",	 "chain_100",
	"chain_1000", "fan_10", "fan_1000", "fan_10000", "diamond_10",
	"batch_1000", "create", "derive",   "subscribe",
};

#define BYTES_COUNT 200000

static speed_side side_of(const speed_case *c)
{
	const struct shapes &s = the_peer.shapes;

#ifdef HYPHAE
	return c->library;
#endif
	auto run = s.set;

	if (!strcmp(c->name, "get"))
		run = s.get;
	else if (!strcmp(c->name, "batch_1000"))
		run = s.batch;
	else if (!strcmp(c->name, "create"))
		run = s.create;
	else if (!strcmp(c->name, "derive"))
		run = s.derive;
	else if (!strcmp(c->name, "subscribe"))
		run = s.subscribe;
	return {s.open, run, s.close};
}

static void tell(const char *bench, const char *what, double value,
		 double floor, double ratio, const std::string &note)
{
	printf("{\"bench\":\"%s\",\"peer\":\"%s\",\"version\":\"%s\","
	       "\"%s\":%.5g",
	       bench, the_peer.name, the_peer.version, what, value);
	if (floor > 0)
		printf(",\"floor_ns\":%.5g,\"ratio\":%.4g", floor, ratio);
	printf(",\"note\":\"%s\"}\n", note.c_str());
	fflush(stdout);
}

// A glitch shows in the values: what comes before all sides have changed is
// smaller.  Sides change by 2^32, so the upper half of the sink counts them.
static std::string look_at_diamond(const speed_case *c)
{
	speed_side side = side_of(c);
	void *state = side.open(c);
	int64_t sides = int64_t(c->size), changes;
	uint64_t before;

#ifdef HYPHAE
	side.close(state);
	return "";
#endif
	side.run(state, 1);
	before = evaluations;
	sink = 0;
	*the_peer.shapes.value_of(state) += int64_t(1) << 32;
	side.run(state, 1);
	changes = sink >> 32;
	side.close(state);
	std::string told = changes == sides ? "" : "GLITCHES: ";

	if (changes != sides)
		told += "its subscriber is told more than one value a set; ";
	if (evaluations == before) // where they cannot be counted
		return told.substr(0, told.rfind(';'));
	return told + "the join is computed " +
	       std::to_string(evaluations - before) + " times a set";
}

static bool leaves_out(const char *name)
{
	return strstr(the_peer.without, (std::string(name) + " ").c_str());
}

static void measure(const speed_case *c, const effort *effort)
{
	speed_side side = side_of(c);
	timed work = {side.run, side.open(c), double(c->units)};
	timed floor = {c->floor.run, c->floor.open(c), double(c->units)};
	std::string note = the_peer.note;
	measured m = measure_pair(&work, &floor, effort);

	side.close(work.state);
	c->floor.close(floor.state);
	if (!strncmp(c->name, "diamond", 7)) {
		std::string more = look_at_diamond(c);

		note += (note.empty() || more.empty() ? "" : "; ") + more;
	}
	tell(c->name, "ns", m.ns, m.floor_ns, m.ratio, note);
}

// In a child, whose memory nobody else has used.
static void measure_bytes()
{
	static const char *const names[] = {"bytes_source", "bytes_derived",
					    "bytes_subscription"};
	double bytes[3];

	fflush(stdout);
	if (!the_peer.shapes.bytes || leaves_out("bytes"))
		return;
	if (fork() == 0) {
		the_peer.shapes.bytes(BYTES_COUNT, bytes);
		for (int i = 0; i < 3; i++)
			tell(names[i], "bytes", bytes[i], 0, 0, the_peer.note);
		_exit(0);
	}
	wait(nullptr);
}

int main(int argc, char **argv)
{
	const effort *effort = &effort_full;

	if (argc > 1 && !strcmp(argv[1], "--quick"))
		effort = &effort_quick;
	else if (argc > 1 && !strcmp(argv[1], "--once"))
		effort = &effort_once;
	pin_to(-1);
	for (const char *name : benches)
		if (!leaves_out(name))
			measure(speed_case_named(name), effort);
	measure_bytes();
	return 0;
}
