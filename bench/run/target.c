/* target.c: starts and stops one server by its script; see target.h. */
#include "run/target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "file.h"
#include "run/child.h"
#include "words.h"

#define START_LIMIT_US (180 * CLOCK_SECOND) /* PostgreSQL makes its data at the first start */
#define STOP_LIMIT_US  (60 * CLOCK_SECOND)
#define GRACE_US       (20 * CLOCK_SECOND) /* a script that is told to end stops what it has started */
#define SAID_BYTES     600

extern char **environ;

void target_init(struct target *target, const char *server, const char *configuration)
{
    *target = (struct target){.server = strdup(server), .configuration = strdup(configuration)};
    CHECK(target->server != NULL && target->configuration != NULL);
}

static void forget(struct target *target)
{
    for (size_t i = 0; i < target->group_count; i++)
        free(target->groups[i].name);
    for (size_t i = 0; i < target->page_count; i++) {
        struct target_page *page = &target->pages[i];
        free(page->path);
        free(page->workload);
        free(page->url);
        free(page->expected);
    }
    for (size_t i = 0; i < target->fact_count; i++) {
        free(target->facts[i].name);
        free(target->facts[i].value);
    }
    target->group_count = target->page_count = target->fact_count = 0;
}

void target_fini(struct target *target)
{
    forget(target);
    free(target->server);
    free(target->configuration);
    *target = (struct target){0};
}

/* -- what a script prints ------------------------------------------------------------------------------------------ */

static struct target_page *find_page(struct target *target, const char *path, const char *workload)
{
    for (size_t i = 0; i < target->page_count; i++)
        if (strcmp(target->pages[i].path, path) == 0 && strcmp(target->pages[i].workload, workload) == 0)
            return &target->pages[i];
    return NULL;
}

const struct target_page *target_page(const struct target *target, const char *path, const char *workload)
{
    return find_page((struct target *)target, path, workload);
}

static bool read_group(struct target *target, const char *line)
{
    char name[32];
    int pid, end = 0;
    if (sscanf(line, "group %31s %d%n", name, &pid, &end) != 2 || line[end] != '\0' || pid < 2 ||
        target->group_count == TARGET_GROUPS_MAX)
        return false;
    target->groups[target->group_count++] = (struct target_group){.name = words("%s", name), .pid = (pid_t)pid};
    return true;
}

static bool read_url(struct target *target, const char *line)
{
    char path[32], workload[32], url[512];
    int end = 0;
    if (sscanf(line, "url %31s %31s %511s%n", path, workload, url, &end) != 3 || line[end] != '\0' ||
        target->page_count == TARGET_PAGES_MAX || find_page(target, path, workload) != NULL)
        return false;
    target->pages[target->page_count++] =
        (struct target_page){.path = words("%s", path), .workload = words("%s", workload), .url = words("%s", url)};
    return true;
}

static bool read_expect(struct target *target, const char *line)
{
    char path[32], workload[32], file[512];
    int end = 0;
    if (sscanf(line, "expect %31s %31s %511s%n", path, workload, file, &end) != 3 || line[end] != '\0')
        return false;
    struct target_page *page = find_page(target, path, workload);
    if (page == NULL || page->expected != NULL)
        return false;
    page->expected = words("%s", file);
    return true;
}

static bool read_fact(struct target *target, const char *line)
{
    char name[64], value[256];
    if (sscanf(line, "fact %63s %255[^\n]", name, value) != 2 || target->fact_count == TARGET_FACTS_MAX)
        return false;
    target->facts[target->fact_count++] = (struct target_fact){.name = words("%s", name), .value = words("%s", value)};
    return true;
}

static bool read_line(struct target *target, const char *line)
{
    return *line == '\0' || read_group(target, line) || read_url(target, line) || read_expect(target, line) ||
           read_fact(target, line);
}

char *target_read(struct target *target, const char *text)
{
    forget(target);
    char *copy = strdup(text), *rest = copy, *line;
    CHECK(copy != NULL);
    char *wrong = NULL;
    while (wrong == NULL && (line = strsep(&rest, "\n")) != NULL)
        if (!read_line(target, line))
            wrong = words("its script prints \"%s\", which is no line that a target may print here", line);
    free(copy);
    for (size_t i = 0; wrong == NULL && i < target->page_count; i++)
        if (target->pages[i].expected == NULL)
            wrong = words("its script tells no right body of %s %s", target->pages[i].path, target->pages[i].workload);
    if (wrong == NULL && (target->group_count == 0 || target->page_count == 0))
        wrong = words("its script tells no process, or no page");
    return wrong;
}

/* -- starting and stopping
 * ---------------------------------------------------------------------------------------------- */

static char *script_of(const char *server)
{
    return words("bench/targets/%s", server);
}

bool target_exists(const char *server)
{
    char *script = script_of(server);
    bool there = access(script, X_OK) == 0;
    free(script);
    return there;
}

/* The surroundings of a script: those of this process, and what common.sh names. */
static char **make_environment(const char *state, const struct target_place *place)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **all = calloc(count + 4, sizeof *all);
    CHECK(all != NULL);
    all[0] = words("MILLBENCH_STATE=%s", state);
    all[1] = words("MILLBENCH_PORT=%d", place->port);
    all[2] = words("MILLBENCH_PAGES=%s", place->pages);
    memcpy(all + 3, environ, (count + 1) * sizeof *all);
    return all;
}

static void free_environment(char **all)
{
    for (int i = 0; i < 3; i++)
        free(all[i]);
    free(all);
}

/* Why a script failed, from how it ended and the last of what it said. */
static char *reason_of(const char *what, const struct child_end *end, const char *said_file)
{
    char *said = file_read(said_file, NULL);
    char *last = said == NULL ? NULL : said + (strlen(said) > SAID_BYTES ? strlen(said) - SAID_BYTES : 0);
    for (char *c = last; c != NULL && *c != '\0'; c++)
        if (*c == '\n')
            *c = c[1] == '\0' ? '\0' : ' ';
    char *reason;
    if (!end->started)
        reason = words("its script cannot be run: %s", strerror(end->error));
    else if (end->timed_out)
        reason = words("%s took too long: %s", what, last ? last : "");
    else if (end->signal != 0)
        reason = words("%s was ended by signal %d: %s", what, end->signal, last ? last : "");
    else
        reason = words("%s failed (exit status %d): %s", what, end->exit, last ? last : "");
    free(said);
    return reason;
}

/* Returns NULL and what the script printed in *printed, or why it failed. */
static char *call_script(const struct target *target, const struct target_place *place, char **arguments,
                         int64_t limit_us, char **printed)
{
    char *state = words("%s/%s", place->state, target->server);
    char *out = words("%s.out", state), *err = words("%s.err", state);
    mkdir(state, 0755);
    char **environment = make_environment(state, place);
    const struct child_plan plan = {.argv = arguments,
                                    .environment = environment,
                                    .out = out,
                                    .err = err,
                                    .cpus = place->cpus,
                                    .despite_interrupts = printed == NULL};
    struct child child;
    struct child_end end;
    child_start(&child, &plan);
    child_wait(&child, limit_us, GRACE_US, NULL, NULL, &end);
    char *reason = end.started && end.exit == 0 ? NULL : reason_of(arguments[1], &end, err);
    if (reason == NULL && printed != NULL && (*printed = file_read(out, NULL)) == NULL)
        reason = words("what it printed cannot be read: %s", strerror(errno));
    free_environment(environment);
    free(state);
    free(out);
    free(err);
    return reason;
}

char *target_start(struct target *target, const struct target_place *place)
{
    char *script = script_of(target->server), *printed = NULL;
    char *arguments[] = {script, (char *)"start", target->configuration, NULL};
    target->running = true;
    char *reason = call_script(target, place, arguments, START_LIMIT_US, &printed);
    if (reason == NULL)
        reason = target_read(target, printed);
    if (reason == NULL && target_dead(target) != NULL)
        reason = words("%s ended by itself", target_dead(target));
    free(printed);
    free(script);
    if (reason != NULL)
        free(target_stop(target, place));
    return reason;
}

char *target_stop(struct target *target, const struct target_place *place)
{
    if (!target->running)
        return NULL;
    char *script = script_of(target->server);
    char *arguments[] = {script, (char *)"stop", NULL};
    char *reason = call_script(target, place, arguments, STOP_LIMIT_US, NULL);
    free(script);
    target->running = false;
    return reason;
}

const char *target_dead(const struct target *target)
{
    for (size_t i = 0; i < target->group_count; i++)
        if (kill(target->groups[i].pid, 0) < 0 && errno == ESRCH)
            return target->groups[i].name;
    return NULL;
}
