/* progress.h: how far a run has come, on standard error: one line that changes where that is a terminal, else a line now and
 * then. */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    double expected_s, done_s; /* by the plan's own estimate */
    int total, done;           /* windows */
    int64_t begun_us, told_us;
    bool on_terminal;
    int width; /* of what stands in the line */
};

void progress_begin(struct progress *progress, int total, double expected_s);

/* Something is about to be done that the estimate knows as so many seconds (0: as part of another). */
void progress_show(struct progress *progress, int round, int rounds, const char *what);

/* One more than was expected. */
void progress_expect(struct progress *progress, double expected_s);

void progress_add(struct progress *progress, double expected_s);

/* Clears the line, so that another message can stand there. */
void progress_clear(struct progress *progress);

/* Seconds that are left: what is expected, by how expectations have held so far. */
double progress_left_s(const struct progress *progress, int64_t now_us);

/* "41 min", "50 s", "2 h 5 min". */
void progress_print_span(char text[32], double seconds);

#endif
