/* command.h: the command lines of a cell's instrument and of the generator beside it. Starts nothing. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include "run/cell.h"
#include "tools/tool.h"

struct command {
    char **argv;                        /* ends with NULL; its own */
    char refused[TOOL_WHY_BYTES_MAX];   /* why the instrument cannot do that; empty: it can */
};

/* The whole environment of every instrument, and its generator's. Two entries and NULL. */
extern char *const command_environment[];

/* millbench load as the cell says, with its JSON on standard output. */
void command_of_load(struct command *command, const struct cell_site *site, const struct cell *cell, const char *url,
                     const char *list, double window_s, double settle_s);

/* So many verified requests, one after the other. */
void command_of_check(struct command *command, const struct cell_site *site, const char *url, const char *list, int requests);

/* So many verified requests a second for as long as a witness runs. */
void command_of_beside(struct command *command, const struct cell_site *site, const char *url, const char *list, int rate,
                       double window_s);

/* The cell's instrument. The rate and the body's length (-1: several) are those that a witness needs to know. */
void command_of_cell(struct command *command, const struct cell_site *site, const struct cell *cell, const char *url,
                     const char *list, double settle_s, double rate, long bytes, const char *times_file);

/* As a person would type it, quoted for a shell, with its CPUs before it; the caller frees it. */
char *command_line(const struct command *command, const char *cpus) __attribute__((warn_unused_result));

void command_fini(struct command *command);

#endif
