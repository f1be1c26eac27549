/* rendering.h: the files that a run's results are shown as. */
#ifndef REPORT_RENDERING_H
#define REPORT_RENDERING_H

#include <jansson.h>

/* The same results give the same bytes. render returns them, a text that the caller frees; NULL after a line on standard error
 * that begins with `who`. It blocks while gnuplot draws. */
struct rendering {
    const char *file;
    char *(*render)(const json_t *results, const char *who);
};

/* Ends with one whose file is NULL. */
extern const struct rendering renderings[];

#endif
