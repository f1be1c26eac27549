/* progress.c: how far a run has come; see progress.h. */
#include "run/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define TOLD_EVERY_US (30 * CLOCK_SECOND)
#define FEW_S         20 /* before that the estimate alone counts */

void progress_begin(struct progress *progress, int total, double expected_s)
{
    *progress = (struct progress){.expected_s = expected_s, .total = total, .begun_us = clock_now_us()};
    progress->on_terminal = isatty(STDERR_FILENO) == 1;
}

double progress_left_s(const struct progress *progress, int64_t now_us)
{
    double passed_s = (double)(now_us - progress->begun_us) / 1e6, left_s = progress->expected_s - progress->done_s;
    return progress->done_s > FEW_S ? left_s * passed_s / progress->done_s : left_s;
}

void progress_print_span(char text[32], double seconds)
{
    int whole = (int)(seconds + 0.5);
    if (whole < 90)
        snprintf(text, 32, "%d s", whole);
    else if (whole < 5400)
        snprintf(text, 32, "%d min", (whole + 30) / 60);
    else
        snprintf(text, 32, "%d h %d min", whole / 3600, whole % 3600 / 60);
}

void progress_show(struct progress *progress, int round, int rounds, const char *what)
{
    int64_t now_us = clock_now_us();
    char left[32];
    if (!progress->on_terminal && progress->told_us != 0 && now_us - progress->told_us < TOLD_EVERY_US)
        return;
    progress->told_us = now_us;
    progress_print_span(left, progress_left_s(progress, now_us));
    progress_clear(progress);
    progress->width = fprintf(stderr, "[%d/%d] round %d of %d, %s left: %s", progress->done, progress->total, round,
                              rounds, left, what);
    if (!progress->on_terminal) {
        fputc('\n', stderr);
        progress->width = 0;
    }
    fflush(stderr);
}

void progress_expect(struct progress *progress, double expected_s)
{
    progress->total++;
    progress->expected_s += expected_s;
}

void progress_add(struct progress *progress, double expected_s)
{
    progress->done++;
    progress->done_s += expected_s;
}

void progress_clear(struct progress *progress)
{
    if (progress->width > 0)
        fprintf(stderr, "\r%*s\r", progress->width, "");
    progress->width = 0;
}
