/*
 * recorded.h: what the tests of ab's and httperf's drivers share: recorded outputs, edits of them, and what a ruling says.
 *
 * The files are looked for in tests/data/bench, from the repository's root, where tests/run starts every program.
 */
#ifndef TESTS_BENCH_RECORDED_H
#define TESTS_BENCH_RECORDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "suite.h"
#include "tools/ruling.h"
#include "tools/tool.h"

#define RECORDED_BYTES_MAX (64 * 1024)

struct recorded {
    size_t length;
    char text[RECORDED_BYTES_MAX]; /* ends with NUL */
};

/* Fails the case when there is no such recording. */
static inline void recorded_read(const char *name, const char *kind, struct recorded *recorded)
{
    char path[256];
    snprintf(path, sizeof path, "tests/data/bench/%s.%s", name, kind);
    FILE *file = fopen(path, "re");
    SUITE_CHECK(file != NULL, "%s: cannot be read", path);
    recorded->length = fread(recorded->text, 1, sizeof recorded->text - 1, file);
    fclose(file);
    recorded->text[recorded->length] = '\0';
}

/* Puts `now` in the place of the first `was`; fails the case when that is not there. */
static inline void recorded_edit(struct recorded *recorded, const char *was, const char *now)
{
    char *at = strstr(recorded->text, was);
    SUITE_CHECK(at != NULL, "\"%s\" is not in the recording", was);
    size_t old = strlen(was), new = strlen(now), rest = strlen(at + old) + 1;
    SUITE_CHECK(recorded->length + new < sizeof recorded->text, "the recording grows too long");
    memmove(at + new, at + old, rest);
    memcpy(at, now, new);
    recorded->length = strlen(recorded->text);
}

/* Every point between digits becomes a comma, as in other locales. */
static inline void recorded_with_commas(struct recorded *recorded)
{
    for (size_t i = 1; i + 1 < recorded->length; i++)
        if (recorded->text[i] == '.' && strchr("0123456789", recorded->text[i - 1]) != NULL &&
            strchr("0123456789", recorded->text[i + 1]) != NULL)
            recorded->text[i] = ',';
}

static inline struct tool_exit recorded_exit(int exit_status)
{
    return (struct tool_exit){.started = true, .exit_status = exit_status, .seconds = 2, .server_alive = true};
}

/* Fails the case unless the ruling is that, and one of its reasons contains `reason` (NULL: there is no reason). */
static inline void recorded_expect(const char *name, const struct ruling *ruling, enum ruling_status status,
                                   const char *reason)
{
    const char *first = ruling->reason_count > 0 ? ruling->reasons[0] : "no reason";
    SUITE_CHECK(ruling->status == status, "%s: %s, not %s: %s", name, ruling_name(ruling->status), ruling_name(status),
                first);
    SUITE_CHECK((ruling->reason_count == 0) == (status == RULING_ACCEPTED), "%s: %d reasons", name,
                ruling->reason_count);
    if (reason == NULL) {
        SUITE_CHECK(ruling->reason_count == 0, "an unexpected reason: %s", first);
        return;
    }
    for (int i = 0; i < ruling->reason_count; i++)
        if (strstr(ruling->reasons[i], reason) != NULL)
            return;
    SUITE_FAIL("%s: no reason has \"%s\"; the first is: %s", name, reason, first);
}

/* Fails the case unless these are the command's arguments, with a blank between them, and LC_ALL=C its environment. */
static inline void recorded_expect_line(const struct tool_command *command, const char *expected)
{
    char line[2048] = "";
    for (int i = 0; i < command->argc; i++) {
        if (i > 0)
            strcat(line, " ");
        strcat(line, command->argv[i]);
    }
    SUITE_CHECK(strcmp(line, expected) == 0, "%s\n    instead of %s", line, expected);
    CU_ASSERT_PTR_NULL(command->argv[command->argc]);
    SUITE_CHECK(strcmp(command->environment[0], "LC_ALL=C") == 0 && command->environment[1] == NULL, "environment");
}

#endif
