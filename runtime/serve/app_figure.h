/*
 * app_figure.h: the numbers of an application's own: how they lie in the memory that processes share. One part of a
 * scoreboard; made by a worker's first thread, added to by any of its threads, read by the status process and the master.
 */
#ifndef SERVE_APP_FIGURE_H
#define SERVE_APP_FIGURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define APP_FIGURES_MAX       16 /* of a route */
#define APP_FIGURE_NAME_BYTES 32
#define APP_FIGURE_HELP_BYTES 120

/* The struct that applications know by name: a figure of one route in one worker. Each has cache lines of its own: lanes
 * that add to different ones do not wait for each other. Name and help are copies, since the process that shows them opens
 * no application. */
struct mr_figure {
    _Alignas(64) _Atomic int64_t value;
    int counts; /* not 0: a counter, which only grows; 0: a gauge */
    char name[APP_FIGURE_NAME_BYTES], help[APP_FIGURE_HELP_BYTES];
};

/* Those of a route in a worker. `count` grows with release when one is complete, and is read with acquire. */
struct app_figures {
    struct mr_figure *all; /* APP_FIGURES_MAX; NULL: no room for any */
    _Atomic int *count;
};

/* A figure as plain values. */
struct app_figure {
    int64_t value;
    bool counts;
    char name[APP_FIGURE_NAME_BYTES], help[APP_FIGURE_HELP_BYTES];
};

/* Of a-z, 0-9 and _, and it fits. OpenMetrics puts _total and _created behind a counter's name: with these in names two
 * figures could have one. */
bool app_figure_is_name(const char *name);

/* Adds one, or finds the one that has this name and kind. Returns NULL with one line in `why`. */
struct mr_figure *app_figure_new(const struct app_figures *figures, bool counts, const char *name, const char *help,
                                 const char **why);

/* Any thread; never blocks. What would make a counter less, and NULL, are nothing. */
void app_figure_add(struct mr_figure *figure, int64_t more);

/* A sum that wraps around, as the figures themselves do: no value that a worker may have written is undefined. */
static inline int64_t app_figure_sum(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

/* Copies the figure of that place as it is now. Nothing is trusted further than its range: the worker may have written
 * anywhere. Returns false when there is none. */
bool app_figure_read(const struct app_figures *figures, int place, struct app_figure *to);

#endif
