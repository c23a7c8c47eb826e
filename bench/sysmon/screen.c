/* SPDX-License-Identifier: MIT */
/* The report of sysmon; see screen.h. */
#include "screen.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH 40

/* Escape sequences of a terminal: to the top left; clear to the line's end. */
#define GO_HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

static void set_label(struct line *line, const char *label)
{
	snprintf(line->label, sizeof(line->label), "%s", label);
}

void screen_init(struct screen *screen)
{
	memset(screen, 0, sizeof(*screen));
	set_label(&screen->cpu_total, "processors");
	set_label(&screen->memory, "memory");
	set_label(&screen->interrupts, "interrupts");
	set_label(&screen->softirqs, "softirqs");
	set_label(&screen->disk, "disks");
	set_label(&screen->network, "network");
	set_label(&screen->alarm, "alarm");
	snprintf(screen->alarm.text, sizeof(screen->alarm.text), "none so far");
}

/* A bar, and the share in per cent. */
void line_share(struct line *line, double share)
{
	int width = (int)(share * BAR_WIDTH + 0.5);
	char bar[BAR_WIDTH + 1];

	if (width < 0)
		width = 0;
	if (width > BAR_WIDTH)
		width = BAR_WIDTH;
	memset(bar, '|', (size_t)width);
	memset(bar + width, ' ', (size_t)(BAR_WIDTH - width));
	bar[BAR_WIDTH] = '\0';
	snprintf(line->text, sizeof(line->text), "[%s] %5.1f %%", bar,
		 share * 100);
}

void line_rate(struct line *line, double rate)
{
	snprintf(line->text, sizeof(line->text), "%10.0f a second", rate);
}

void line_alarm(struct line *line, double share, time_t now)
{
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	snprintf(line->text, sizeof(line->text),
		 "processors %.0f %% busy at %s", share * 100, clock);
}

void line_memory(struct line *line, const struct memory *memory)
{
	size_t length;

	if (memory->total <= 0)
		return;
	line_share(line, 1 - (double)memory->available / (double)memory->total);
	length = strlen(line->text);
	snprintf(line->text + length, sizeof(line->text) - length,
		 " of %" PRId64 " MiB", memory->total / 1024);
}

void line_flow(struct line *line, const struct flow *flow)
{
	snprintf(line->text, sizeof(line->text),
		 "%10.1f KiB/s in %10.1f KiB/s out", flow->in / 1024,
		 flow->out / 1024);
}

void screen_set_ranking(struct screen *screen, const struct ranking *ranking)
{
	size_t i;

	for (i = 0; i < RANKING_MAX; i++) {
		const struct usage *usage = &ranking->top[i];
		struct line *line = &screen->processes[i];

		line->label[0] = line->text[0] = '\0';
		if ((int64_t)i >= ranking->count)
			continue;
		set_label(line, usage->name);
		snprintf(line->text, sizeof(line->text),
			 "%8" PRId64 " %6.1f %% %8" PRId64 " MiB", usage->pid,
			 usage->cpu * 100, usage->resident_kib / 1024);
	}
}

static void print_line(const struct line *line, const char *end, FILE *file)
{
	/* A machine may have fewer processors or processes than lines. */
	if (line->label[0])
		fprintf(file, "%-16s %s%s", line->label, line->text, end);
}

void screen_print(const struct screen *screen, const char *title, FILE *file)
{
	bool terminal = isatty(fileno(file));
	const char *end = terminal ? CLEAR_LINE "\n" : "\n";
	size_t i;

	fprintf(file, "%s%s%s", terminal ? GO_HOME : "", title, end);
	print_line(&screen->cpu_total, end, file);
	for (i = 0; i < SCREEN_CPUS; i++)
		print_line(&screen->cpus[i], end, file);
	print_line(&screen->memory, end, file);
	print_line(&screen->interrupts, end, file);
	print_line(&screen->softirqs, end, file);
	print_line(&screen->disk, end, file);
	print_line(&screen->network, end, file);
	print_line(&screen->alarm, end, file);
	fprintf(file, "%s%-16s %8s %8s %12s%s", end, "PROCESS", "PID", "CPU",
		"RESIDENT", end);
	for (i = 0; i < RANKING_MAX; i++)
		print_line(&screen->processes[i], end, file);
	fprintf(file, "%s", terminal ? CLEAR_BELOW : "\n");
	fflush(file);
}
