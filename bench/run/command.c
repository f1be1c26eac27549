/* command.c: the command lines of a cell; see command.h. */
#include "run/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tools/ab.h"
#include "tools/httperf.h"
#include "words.h"

#define ARGUMENTS_MAX 48
#define TIMEOUT_S     10

char *const command_environment[] = {(char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                     (char *)"LC_ALL=C", NULL};

static void add(struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct command *command, const char *format, ...)
{
    char *text = NULL;
    size_t count = 0;
    va_list arguments;
    va_start(arguments, format);
    CHECK(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    while (command->argv[count] != NULL)
        count++;
    CHECK(count < ARGUMENTS_MAX);
    command->argv[count] = text;
}

static void begin(struct command *command)
{
    *command = (struct command){.argv = calloc(ARGUMENTS_MAX + 1, sizeof *command->argv)};
    CHECK(command->argv != NULL);
}

void command_fini(struct command *command)
{
    for (size_t i = 0; command->argv[i] != NULL; i++)
        free(command->argv[i]);
    free(command->argv);
    *command = (struct command){0};
}

/* -- the generator ---------------------------------------------------------------------------------------------------
 */

static void begin_load(struct command *command, const struct cell_site *site)
{
    begin(command);
    add(command, "%s", site->program);
    add(command, "load");
}

static void end_load(struct command *command, const char *url, const char *list)
{
    add(command, "--expect-list");
    add(command, "%s", list);
    add(command, "--json");
    add(command, "%s", url);
}

static void add_number(struct command *command, const char *option, double number)
{
    add(command, "%s", option);
    add(command, "%g", number);
}

void command_of_load(struct command *command, const struct cell_site *site, const struct cell *cell, const char *url,
                     const char *list, double window_s, double settle_s)
{
    begin_load(command, site);
    add_number(command, cell->rate > 0 ? "-r" : "-c", cell->rate > 0 ? cell->rate : cell->concurrency);
    add_number(command, "-d", window_s);
    if (settle_s > 0)
        add_number(command, "-w", settle_s);
    if (cell->rate > 0 || cell->concurrency >= site->generator_count)
        add_number(command, "-p", site->generator_count);
    end_load(command, url, list);
}

void command_of_check(struct command *command, const struct cell_site *site, const char *url, const char *list,
                      int requests)
{
    begin_load(command, site);
    add_number(command, "-c", 1);
    add_number(command, "-p", 1);
    add_number(command, "-n", requests);
    end_load(command, url, list);
}

void command_of_beside(struct command *command, const struct cell_site *site, const char *url, const char *list,
                       int rate, double window_s)
{
    begin_load(command, site);
    add_number(command, "-r", rate);
    add_number(command, "-p", 1);
    add_number(command, "-d", window_s);
    end_load(command, url, list);
}

/* -- the witnesses
 * ------------------------------------------------------------------------------------------------------ */

static void take(struct command *command, const struct tool_command *tool)
{
    for (int i = 0; i < tool->argc; i++)
        add(command, "%s", tool->argv[i]);
}

static void command_of_witness(struct command *command, const struct tool_settings *settings,
                               enum instrument instrument)
{
    struct tool_command tool;
    begin(command);
    int result = instrument == INSTRUMENT_AB ? ab_command(settings, &tool) : httperf_command(settings, &tool);
    if (result == 0)
        take(command, &tool);
    else
        snprintf(command->refused, sizeof command->refused, "%s", tool.why);
}

void command_of_cell(struct command *command, const struct cell_site *site, const struct cell *cell, const char *url,
                     const char *list, double settle_s, double rate, long bytes, const char *times_file)
{
    const struct tool_settings settings = {
        .url = url,
        .concurrency = cell->concurrency,
        .seconds = cell->window_s,
        .rate_per_s = rate,
        .keep_alive = true,
        .timeout_s = TIMEOUT_S,
        .body_bytes = bytes,
        .variable_length = bytes < 0,
        .times_file = times_file,
    };
    if (cell->instrument == INSTRUMENT_LOAD)
        command_of_load(command, site, cell, url, list, cell->window_s, settle_s);
    else
        command_of_witness(command, &settings, cell->instrument);
}

/* -- for people
 * ------------------------------------------------------------------------------------------------------------- */

static void print_quoted(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
    if (*text != '\0' && strspn(text, plain) == strlen(text)) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

char *command_line(const struct command *command, const char *cpus)
{
    char *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);
    CHECK(out != NULL);
    fprintf(out, "taskset -c %s", cpus);
    for (size_t i = 0; command->argv[i] != NULL; i++) {
        fputc(' ', out);
        print_quoted(out, command->argv[i]);
    }
    fputc('\n', out);
    CHECK(fclose(out) == 0);
    return line;
}
