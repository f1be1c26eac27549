/* plan.c: reads a plan with libconfuse and expands its blocks to cells; see plan.h. */
#include "run/plan.h"

#include <confuse.h>
#include <errno.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define CELLS_MAX        5000
#define ROUNDS_MAX       200
#define ATTEMPTS_MAX     20
#define MINUTES_MAX      10000
#define CONCURRENCY_MAX  20000
#define RATE_MAX         1000000
#define WINDOW_S_MIN     0.2
#define WINDOW_S_MAX     7200.0
#define AROUND_LOAD_S    0.9 /* a warm-up of two slices, and the process's start */
#define AROUND_WITNESS_S 1.3 /* the checks before and after it as well */

static const char *const instrument_names[] = {"load", "ab", "httperf"};
static const char *const paths[] = {"static", "proxied", "direct", "peer"};
static const char *const layouts[] = {"1+1", "sets", "shared"};

const char *plan_instrument(enum instrument instrument)
{
    return instrument_names[instrument];
}

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    CHECK(copy != NULL);
    return copy;
}

static int index_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

/* -- checks, each called by libconfuse with the line at hand
 * ------------------------------------------------------------- */

static int check_names(cfg_t *section, cfg_opt_t *option)
{
    for (unsigned i = 0; i < cfg_opt_size(option); i++) {
        const char *name = cfg_opt_getnstr(option, i);
        if (*name == '\0' || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-:") != strlen(name)) {
            cfg_error(section, "%s: \"%s\" is no name: small letters, digits, _ and -", option->name, name);
            return -1;
        }
    }
    return 0;
}

static int check_one_of(cfg_t *section, cfg_opt_t *option, const char *const *names, size_t count, const char *which)
{
    for (unsigned i = 0; i < cfg_opt_size(option); i++) {
        const char *name = cfg_opt_getnstr(option, i);
        if (index_of(names, count, name) < 0) {
            cfg_error(section, "%s: \"%s\": there are %s", option->name, name, which);
            return -1;
        }
    }
    return 0;
}

static int check_paths(cfg_t *section, cfg_opt_t *option)
{
    return check_one_of(section, option, paths, COUNT_OF(paths), "static, proxied, direct and peer");
}

static int check_instruments(cfg_t *section, cfg_opt_t *option)
{
    return check_one_of(section, option, instrument_names, COUNT_OF(instrument_names), "load, ab and httperf");
}

static int check_layout(cfg_t *section, cfg_opt_t *option)
{
    return check_one_of(section, option, layouts, COUNT_OF(layouts), "1+1, sets and shared");
}

static int check_range(cfg_t *section, cfg_opt_t *option, long least, long most)
{
    for (unsigned i = 0; i < cfg_opt_size(option); i++) {
        long value = cfg_opt_getnint(option, i);
        if (value < least || value > most) {
            cfg_error(section, "%s: %ld is not between %ld and %ld", option->name, value, least, most);
            return -1;
        }
    }
    return 0;
}

static int check_rounds(cfg_t *section, cfg_opt_t *option)
{
    return check_range(section, option, 1, ROUNDS_MAX);
}

static int check_attempts(cfg_t *section, cfg_opt_t *option)
{
    return check_range(section, option, 1, ATTEMPTS_MAX);
}

static int check_minutes(cfg_t *section, cfg_opt_t *option)
{
    double value = cfg_opt_getnfloat(option, 0);
    if (value >= 0 && value <= MINUTES_MAX)
        return 0;
    cfg_error(section, "%s: minutes go from 0, which is no limit, to %d", cfg_opt_name(option), MINUTES_MAX);
    return -1;
}

static int check_concurrency(cfg_t *section, cfg_opt_t *option)
{
    return check_range(section, option, 1, CONCURRENCY_MAX);
}

static int check_rates(cfg_t *section, cfg_opt_t *option)
{
    return check_range(section, option, 1, RATE_MAX);
}

static int check_seconds(cfg_t *section, cfg_opt_t *option)
{
    double value = cfg_opt_getnfloat(option, 0);
    if (value >= WINDOW_S_MIN && value <= WINDOW_S_MAX)
        return 0;
    cfg_error(section, "%s: %g is not between %g and %g seconds", option->name, value, WINDOW_S_MIN, WINDOW_S_MAX);
    return -1;
}

static int check_cells(cfg_t *parser, cfg_opt_t *option)
{
    static const char *const needed[] = {"servers", "paths", "workloads", "instruments"};
    cfg_t *block = cfg_opt_getnsec(option, cfg_opt_size(option) - 1);
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (cfg_size(block, needed[i]) == 0) {
            cfg_error(parser, "cells \"%s\" says no %s", cfg_title(block), needed[i]);
            return -1;
        }
    }
    if (cfg_size(block, "concurrency") + cfg_size(block, "rates") == 0) {
        cfg_error(parser, "cells \"%s\" says neither concurrency nor rates", cfg_title(block));
        return -1;
    }
    return 0;
}

static void print_error(cfg_t *parser, const char *format, va_list arguments)
{
    fprintf(stderr, "millbench run: %s:%d: ", parser->filename ? parser->filename : "plan", parser->line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

static cfg_t *make_parser(void)
{
    cfg_opt_t block[] = {
        CFG_STR("section", NULL, CFGF_NODEFAULT),
        CFG_STR_LIST("servers", NULL, CFGF_NONE),
        CFG_STR_LIST("paths", NULL, CFGF_NONE),
        CFG_STR_LIST("workloads", NULL, CFGF_NONE),
        CFG_STR_LIST("instruments", NULL, CFGF_NONE),
        CFG_INT_LIST("concurrency", NULL, CFGF_NONE),
        CFG_INT_LIST("rates", NULL, CFGF_NONE),
        CFG_INT("rounds", 0, CFGF_NODEFAULT),
        CFG_INT("witness_rounds", 0, CFGF_NODEFAULT),
        CFG_FLOAT("window", 0, CFGF_NODEFAULT),
        CFG_END(),
    };
    cfg_opt_t options[] = {
        CFG_STR("description", "", CFGF_NONE),
        CFG_STR("layout", "1+1", CFGF_NONE),
        CFG_INT("rounds", 10, CFGF_NONE),
        CFG_INT("witness_rounds", 3, CFGF_NONE),
        CFG_INT("attempts", 4, CFGF_NONE),
        CFG_FLOAT("minutes", 0, CFGF_NONE),
        CFG_FLOAT("window", 5.0, CFGF_NONE),
        CFG_FLOAT("warm_up", 3.0, CFGF_NONE),
        CFG_SEC("cells", block, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
        CFG_END(),
    };
    cfg_t *parser = cfg_init(options, CFGF_NONE);
    CHECK(parser != NULL);
    cfg_set_error_function(parser, print_error);
    cfg_set_validate_func(parser, "layout", check_layout);
    cfg_set_validate_func(parser, "rounds", check_rounds);
    cfg_set_validate_func(parser, "witness_rounds", check_rounds);
    cfg_set_validate_func(parser, "attempts", check_attempts);
    cfg_set_validate_func(parser, "minutes", check_minutes);
    cfg_set_validate_func(parser, "window", check_seconds);
    cfg_set_validate_func(parser, "warm_up", check_seconds);
    cfg_set_validate_func(parser, "cells", check_cells);
    cfg_set_validate_func(parser, "cells|servers", check_names);
    cfg_set_validate_func(parser, "cells|workloads", check_names);
    cfg_set_validate_func(parser, "cells|paths", check_paths);
    cfg_set_validate_func(parser, "cells|instruments", check_instruments);
    cfg_set_validate_func(parser, "cells|concurrency", check_concurrency);
    cfg_set_validate_func(parser, "cells|rates", check_rates);
    cfg_set_validate_func(parser, "cells|rounds", check_rounds);
    cfg_set_validate_func(parser, "cells|witness_rounds", check_rounds);
    cfg_set_validate_func(parser, "cells|window", check_seconds);
    return parser;
}

/* -- blocks to cells
 * ------------------------------------------------------------------------------------------------------ */

static int find_cell(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->cell_count; i++)
        if (strcmp(plan->cells[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int rounds_of(const struct plan *plan, cfg_t *block, enum instrument instrument)
{
    const char *option = instrument == INSTRUMENT_LOAD ? "rounds" : "witness_rounds";
    if (cfg_size(block, option) > 0)
        return (int)cfg_getint(block, option);
    return instrument == INSTRUMENT_LOAD ? plan->rounds : plan->witness_rounds;
}

static void split_server(struct cell *cell, const char *given)
{
    const char *colon = strchr(given, ':');
    cell->server = colon ? strndup(given, (size_t)(colon - given)) : copy_of(given);
    cell->configuration = copy_of(colon ? colon + 1 : "default");
    CHECK(cell->server != NULL);
}

void plan_free_cell(struct cell *cell)
{
    free(cell->name);
    free(cell->section);
    free(cell->server);
    free(cell->configuration);
    free(cell->path);
    free(cell->workload);
}

/* Takes the cell's server, path, workload and instrument as they are. Returns -1 when there is such a cell already. */
static int add_cell(struct plan *plan, cfg_t *block, struct cell cell)
{
    cell.section = copy_of(cfg_size(block, "section") > 0 ? cfg_getstr(block, "section") : cfg_title(block));
    cell.rounds = rounds_of(plan, block, cell.instrument);
    cell.window_s = cfg_size(block, "window") > 0 ? cfg_getfloat(block, "window") : plan->window_s;
    char load = cell.rate > 0 ? 'r' : 'c';
    if (asprintf(&cell.name, "%s.%s.%s.%s.%s.%c%d", cell.server, cell.configuration, cell.path, cell.workload,
                 plan_instrument(cell.instrument), load, cell.rate > 0 ? cell.rate : cell.concurrency) < 0)
        cell.name = NULL;
    CHECK(cell.name != NULL);
    const char *why = find_cell(plan, cell.name) >= 0 ? "stands there twice"
                      : plan->cell_count == CELLS_MAX ? "is one too many"
                                                      : NULL;
    if (why) {
        cfg_error(block, "the cell %s %s", cell.name, why);
        plan_free_cell(&cell);
        return -1;
    }
    plan->cells = realloc(plan->cells, (plan->cell_count + 1) * sizeof *plan->cells);
    CHECK(plan->cells != NULL);
    plan->cells[plan->cell_count++] = cell;
    return 0;
}

/* One server, path, workload and instrument: a cell for each load. ab and httperf know no fixed rate of ours. */
static int add_loads(struct plan *plan, cfg_t *block, const char *server, const char *path, const char *workload,
                     enum instrument instrument)
{
    unsigned closed = cfg_size(block, "concurrency");
    unsigned open = instrument == INSTRUMENT_LOAD ? cfg_size(block, "rates") : 0;
    for (unsigned i = 0; i < closed + open; i++) {
        struct cell cell = {.path = copy_of(path), .workload = copy_of(workload), .instrument = instrument};
        split_server(&cell, server);
        if (i < closed)
            cell.concurrency = (int)cfg_getnint(block, "concurrency", i);
        else
            cell.rate = (int)cfg_getnint(block, "rates", i - closed);
        if (add_cell(plan, block, cell) < 0)
            return -1;
    }
    return 0;
}

static int add_block(struct plan *plan, cfg_t *block)
{
    for (unsigned s = 0; s < cfg_size(block, "servers"); s++)
        for (unsigned w = 0; w < cfg_size(block, "workloads"); w++)
            for (unsigned p = 0; p < cfg_size(block, "paths"); p++)
                for (unsigned i = 0; i < cfg_size(block, "instruments"); i++) {
                    int instrument =
                        index_of(instrument_names, COUNT_OF(instrument_names), cfg_getnstr(block, "instruments", i));
                    if (add_loads(plan, block, cfg_getnstr(block, "servers", s), cfg_getnstr(block, "paths", p),
                                  cfg_getnstr(block, "workloads", w), (enum instrument)instrument) < 0)
                        return -1;
                }
    return 0;
}

static int take_plan(struct plan *plan, cfg_t *parser)
{
    plan->description = copy_of(cfg_getstr(parser, "description"));
    plan->layout = copy_of(cfg_getstr(parser, "layout"));
    plan->rounds = (int)cfg_getint(parser, "rounds");
    plan->witness_rounds = (int)cfg_getint(parser, "witness_rounds");
    plan->attempts = (int)cfg_getint(parser, "attempts");
    plan->minutes = cfg_getfloat(parser, "minutes");
    plan->window_s = cfg_getfloat(parser, "window");
    plan->warm_up_s = cfg_getfloat(parser, "warm_up");
    for (unsigned i = 0; i < cfg_size(parser, "cells"); i++)
        if (add_block(plan, cfg_getnsec(parser, "cells", i)) < 0)
            return -1;
    if (plan->cell_count > 0)
        return 0;
    cfg_error(parser, "the plan has no cells");
    return -1;
}

static char *name_of(const char *file)
{
    char *copy = copy_of(file);
    char *name = copy_of(basename(copy));
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    free(copy);
    return name;
}

int plan_read(struct plan *plan, const char *file)
{
    *plan = (struct plan){.name = name_of(file)};
    cfg_t *parser = make_parser();
    int status = cfg_parse(parser, file);
    if (status == CFG_FILE_ERROR)
        fprintf(stderr, "millbench run: %s cannot be read: %s\n", file, strerror(errno));
    int result = status == CFG_SUCCESS ? take_plan(plan, parser) : -1;
    cfg_free(parser);
    if (result < 0)
        plan_fini(plan);
    return result;
}

void plan_fini(struct plan *plan)
{
    for (size_t i = 0; i < plan->cell_count; i++)
        plan_free_cell(&plan->cells[i]);
    free(plan->cells);
    free(plan->name);
    free(plan->description);
    free(plan->layout);
    *plan = (struct plan){0};
}

void plan_keep(struct plan *plan, const char *pattern)
{
    char *anywhere = NULL;
    CHECK(asprintf(&anywhere, "*%s*", pattern) >= 0);
    size_t kept = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (fnmatch(anywhere, plan->cells[i].name, 0) == 0)
            plan->cells[kept++] = plan->cells[i];
        else
            plan_free_cell(&plan->cells[i]);
    }
    plan->cell_count = kept;
    free(anywhere);
}

int plan_rounds(const struct plan *plan)
{
    int most = 0;
    for (size_t i = 0; i < plan->cell_count; i++)
        most = plan->cells[i].rounds > most ? plan->cells[i].rounds : most;
    return most;
}

double plan_cell_seconds(const struct plan *plan, const struct cell *cell)
{
    (void)plan;
    return cell->window_s + (cell->instrument == INSTRUMENT_LOAD ? AROUND_LOAD_S : AROUND_WITNESS_S);
}
