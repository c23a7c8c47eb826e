/* SPDX-License-Identifier: MIT */
/*
 * tool: how fast hyphae-top is, with its own code, without a kernel.
 *
 *   tool_records   records that one processor decodes and counts a second:
 *                  full blocks, as the ring delivers them, of 1,000 cells
 *                  that fire ten in a row, with durations that vary
 *   tool_many      the same of 1,000,000 cells, ten in a row at random
 *   census         resident bytes of a cell that is known, with a name of its
 *                  own; over 1,000,000
 *   census_timed   the same when fan-outs of each cell were timed
 *
 * Blocks and tables have been touched before the clock is started.
 *
 * What `make bench` runs of it:
 * bench:
 * bench-quick: --quick
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/model.h"
#include "bpf/stream.h"
#include "lib/measure.h"
#include "lib/options.h"
#include "lib/result.h"

#define FEW 1000
#define MANY 1000000
/* With --once. */
#define MANY_ONCE 10000
#define IN_A_ROW 10
#define BLOCKS 64
/* An interval of hyphae-top is some tens of millions of records. */
#define BLOCKS_AN_INTERVAL 20000
#define RECORDS_TARGET 20e6
#define BYTES_TARGET 200

_Noreturn static void give_up(const char *what)
{
	fprintf(stderr, "tool: cannot %s: %s.\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* ---- blocks as the library writes them ------------------------------------ */

struct feed {
	struct model model;
	struct stream stream;
	struct hy_block *blocks; /* BLOCKS of them, over and over */
	uint32_t cells;
	uint32_t random;
	uint64_t sequence;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void fill_block(struct feed *feed, struct hy_block *block)
{
	uint64_t id = 0;
	uint32_t i;

	memset(block, 0, sizeof(*block));
	block->version = HY_ABI_VERSION;
	block->thread = 1;
	block->count = block->fires = HY_BLOCK_RECORDS;
	block->passes = HY_BLOCK_RECORDS / IN_A_ROW;
	for (i = 0; i < HY_BLOCK_RECORDS; i++) {
		uint64_t flags = HY_RECORD_WRITE | HY_RECORD_FIRE;

		if (i % IN_A_ROW == 0) {
			id = next_random(&feed->random) % feed->cells /
				     IN_A_ROW * IN_A_ROW +
			     1;
			flags |= HY_RECORD_NOTIFY;
		} else {
			flags |= HY_RECORD_COMPUTE;
		}
		block->records[i] = (struct hy_record){
			.cell_flags = (id + i % IN_A_ROW) << 16 | flags,
			.start = i * 50,
			.compute = 20,
			.fanout = 40 + next_random(&feed->random) % 40,
			.depth = i % IN_A_ROW,
		};
	}
}

static void feed_block(struct feed *feed)
{
	struct hy_block *block = &feed->blocks[feed->sequence % BLOCKS];

	block->sequence = ++feed->sequence;
	stream_block(&feed->stream, block, sizeof(*block));
	if (feed->sequence % BLOCKS_AN_INTERVAL == 0)
		model_next(&feed->model);
}

static void feed_run(void *state, uint64_t times)
{
	while (times--)
		feed_block(state);
}

static struct feed *feed_open(uint32_t cells)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	uint64_t id;
	size_t i;

	if (!feed)
		give_up("find memory");
	feed->cells = cells;
	feed->random = 1;
	feed->blocks = calloc(BLOCKS, sizeof(*feed->blocks));
	if (!feed->blocks || model_open(&feed->model, 4000000, false) ||
	    stream_open(&feed->stream, &feed->model))
		give_up("open a stream");
	for (id = 1; id <= cells; id++)
		model_cell(&feed->model, id);
	for (i = 0; i < BLOCKS; i++)
		fill_block(feed, &feed->blocks[i]);
	return feed;
}

static void feed_close(struct feed *feed)
{
	stream_close(&feed->stream);
	model_close(&feed->model);
	free(feed->blocks);
	free(feed);
}

static void measure_records(const char *bench, uint32_t cells, double target,
			    const struct effort *effort, bool json)
{
	struct feed *feed = feed_open(cells);
	struct timed work = {feed_run, feed, HY_BLOCK_RECORDS};
	struct measured measured = measure_alone(&work, effort);
	struct result result = {
		.bench = bench,
		.what = "per_second",
		.value = 1e9 / measured.ns,
		.target = target,
		.spread = measured.spread,
		.at_least = true,
	};

	/* Every record must have been counted, or the figure is worthless. */
	if (feed->model.total.fires != feed->sequence * HY_BLOCK_RECORDS ||
	    stream_missing(&feed->stream) || feed->model.lost.unsorted) {
		fprintf(stderr,
			"tool: %s: of %" PRIu64 " records %" PRIu64
			" were counted.\n",
			bench, feed->sequence * HY_BLOCK_RECORDS,
			feed->model.total.fires);
		exit(EXIT_FAILURE);
	}
	result_tell(&result, json);
	feed_close(feed);
}

/* ---- memory ----------------------------------------------------------------- */

/* As a census of the process tells them. */
static void know_cell(struct model *model, uint64_t id)
{
	char name[32];
	int length = snprintf(name, sizeof(name), "chain%" PRIu64 ".%" PRIu64,
			      id / IN_A_ROW, id % IN_A_ROW);
	struct traits traits = {
		.name = text_add(&model->texts, name, (size_t)length),
		.type = text_add(&model->texts, "int64", 5),
		.op = text_add(&model->texts, "map", 3),
		.site = text_add(&model->texts, "server.c:100", 12),
		.height = (uint32_t)(id % IN_A_ROW),
		.targets = 1,
	};

	model_describe(model, model_cell(model, id), &traits);
}

static void tell_bytes(const char *bench, double bytes, double target,
		       bool json)
{
	struct result result = {
		.bench = bench,
		.what = "bytes",
		.unit = "cell",
		.value = bytes,
		.target = target,
	};

	result_tell(&result, json);
}

/* In a child, whose memory nobody else has used. */
static void measure_census(uint32_t many, bool json)
{
	struct model model;
	double start = resident_bytes();
	uint32_t random = 1, i;
	uint64_t id;

	if (model_open(&model, 4000000, false))
		give_up("open a model");
	for (id = 1; id <= many; id++)
		know_cell(&model, id);
	tell_bytes("census", (resident_bytes() - start) / many, BYTES_TARGET,
		   json);
	for (id = 1; id <= many; id++) {
		struct cell *cell = model_find(&model, id);

		model_touch(&model, cell);
		for (i = 0; i < IN_A_ROW; i++)
			model_fanout(&model, cell,
				     40 + next_random(&random) % 40);
	}
	tell_bytes("census_timed", (resident_bytes() - start) / many, 0, json);
	model_close(&model);
}

static void measure_census_apart(uint32_t many, bool json)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		give_up("fork");
	if (!child) {
		measure_census(many, json);
		_exit(EXIT_SUCCESS);
	}
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "tool: measuring the memory failed.\n");
		exit(EXIT_FAILURE);
	}
}

/* ---- what was asked for ------------------------------------------------------- */

static const char help[] =
	"Usage: tool [OPTION]...\n"
	"How fast hyphae-top counts, and how much memory it takes.\n"
	"\n"
	"  --json    one object a line instead of a table\n"
	"  --quick   fewer and shorter rounds\n"
	"  --once    one round of each, only to see that they run\n"
	"  --help    this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"once", no_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

int main(int argc, char **argv)
{
	const struct effort *effort = &effort_full;
	uint32_t many = MANY;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'j':
			json = true;
			break;
		case 'q':
			effort = &effort_quick;
			break;
		case 'o':
			effort = &effort_once;
			many = MANY_ONCE;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			option_unknown();
		}
	}
	option_no_more(argc, argv, optind);
	pin_to(-1);
	result_head(json);
	measure_census_apart(many, json);
	measure_records("tool_records", FEW, RECORDS_TARGET, effort, json);
	measure_records("tool_many", many, 0, effort, json);
	return EXIT_SUCCESS;
}
