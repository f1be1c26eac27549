/* journal.c: run.json; see journal.h. */
#include "run/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "file.h"
#include "main.h"
#include "observe/fingerprint.h"
#include "words.h"

#define SCHEMA         "millbench-run/1"
#define CLAIM_ROUNDS   10 /* fewer give no interval that a claim could rest on */
#define JOURNAL_FORMAT (JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(12))

static json_t *utc_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return json_string(text);
}

/* -- what a new one says
 * -------------------------------------------------------------------------------------------------- */

static json_t *number_or_null(int number)
{
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *cells_json(const struct plan *plan)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct cell *cell = &plan->cells[i];
        json_array_append_new(cells, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:i, s:f}", "name",
                                               cell->name, "section", cell->section, "server", cell->server,
                                               "configuration", cell->configuration, "path", cell->path, "workload",
                                               cell->workload, "instrument", plan_instrument(cell->instrument), "loop",
                                               cell->rate > 0 ? "open" : "closed", "concurrency",
                                               number_or_null(cell->concurrency), "rate", number_or_null(cell->rate),
                                               "rounds", cell->rounds, "window_s", cell->window_s));
    }
    return cells;
}

static json_t *cpus_json(const cpu_set_t *set)
{
    json_t *cpus = json_array();
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set))
            json_array_append_new(cpus, json_integer(cpu));
    return cpus;
}

static json_t *settings_json(const struct plan *plan)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:f}", "description", plan->description, "rounds", plan->rounds,
                     "witness_rounds", plan->witness_rounds, "attempts", plan->attempts, "minutes", plan->minutes,
                     "window_s", plan->window_s, "warm_up_s", plan->warm_up_s);
}

void journal_begin(struct journal *journal, const char *folder, const struct plan *plan, uint64_t seed,
                   const struct layout *layout, json_t *fingerprint)
{
    char hash[65];
    fingerprint_hash(fingerprint, hash);
    *journal = (struct journal){.file = words("%s/run.json", folder), .seed = seed};
    journal->json =
        json_pack("{s:s, s:i, s:s, s:I, s:o, s:n, s:s, s:b, s:o, s:{s:s, s:o, s:o}, s:o, s:s, s:o, s:[], s:[], s:[]}",
                  "schema", SCHEMA, "method", MILLBENCH_METHOD, "plan", plan->name, "seed", (json_int_t)seed, "started",
                  utc_now(), "ended", "state", "running", "rounds_claimable", plan->rounds >= CLAIM_ROUNDS, "settings",
                  settings_json(plan), "layout", "kind", plan->layout, "server_cpus", cpus_json(&layout->server),
                  "generator_cpus", cpus_json(&layout->generator), "fingerprint", fingerprint, "fingerprint_hash", hash,
                  "cells", cells_json(plan), "pages", "starts", "equal_work");
    CHECK(journal->json != NULL);
}

/* -- going on with one
 * ------------------------------------------------------------------------------------------------------ */

static char *differs(const struct journal *journal, const json_t *fingerprint)
{
    const json_t *before = json_object_get(journal->json, "fingerprint");
    if (json_integer_value(json_object_get(journal->json, "method")) != MILLBENCH_METHOD)
        return words("it was made with another method: begin a new run");
    if (strcmp(json_string_value(json_object_get(journal->json, "state")) ?: "", "complete") == 0)
        return words("it is complete");
    json_t *differences = fingerprint_differences(before, fingerprint);
    const char *first = json_string_value(json_array_get(differences, 0));
    char *why = first == NULL ? NULL : words("the machine is not as it was (%s): begin a new run", first);
    json_decref(differences);
    if (why == NULL && !json_equal(json_object_get(json_object_get(before, "build"), "files"),
                                   json_object_get(json_object_get(fingerprint, "build"), "files")))
        why = words("what is measured has been built anew since: begin a new run");
    return why;
}

char *journal_resume(struct journal *journal, const char *folder, json_t *fingerprint)
{
    json_error_t error;
    *journal = (struct journal){.file = words("%s/run.json", folder)};
    journal->json = json_load_file(journal->file, 0, &error);
    char *why =
        journal->json == NULL ? words("run.json cannot be read: %s", error.text) : differs(journal, fingerprint);
    json_decref(fingerprint);
    journal->seed = (uint64_t)json_integer_value(json_object_get(journal->json, "seed"));
    if (why == NULL)
        journal_set_state(journal, "running");
    else
        journal_fini(journal);
    return why;
}

/* -- what is added
 * ------------------------------------------------------------------------------------------------------------- */

void journal_add_start(struct journal *journal, const struct target *target, int round)
{
    json_t *facts = json_object(), *groups = json_array();
    for (size_t i = 0; i < target->fact_count; i++)
        json_object_set_new(facts, target->facts[i].name, json_string(target->facts[i].value));
    for (size_t i = 0; i < target->group_count; i++)
        json_array_append_new(groups, json_string(target->groups[i].name));
    json_array_append_new(json_object_get(journal->json, "starts"),
                          json_pack("{s:s, s:s, s:i, s:o, s:o}", "server", target->server, "configuration",
                                    target->configuration, "round", round, "facts", facts, "groups", groups));
}

static bool is_card_of(const json_t *card, const struct target *target, const struct target_page *page)
{
    const char *names[] = {"server", "configuration", "path", "workload"};
    const char *values[] = {target->server, target->configuration, page->path, page->workload};
    for (int i = 0; i < 4; i++)
        if (strcmp(json_string_value(json_object_get(card, names[i])) ?: "", values[i]) != 0)
            return false;
    return true;
}

void journal_add_card(struct journal *journal, const struct target *target, const struct target_page *page,
                      json_t *card)
{
    json_t *cards = json_object_get(journal->json, "equal_work");
    json_object_set_new(card, "server", json_string(target->server));
    json_object_set_new(card, "configuration", json_string(target->configuration));
    json_object_set_new(card, "path", json_string(page->path));
    json_object_set_new(card, "workload", json_string(page->workload));
    for (size_t i = 0; i < json_array_size(cards); i++)
        if (is_card_of(json_array_get(cards, i), target, page)) {
            json_array_set_new(cards, i, card);
            return;
        }
    json_array_append_new(cards, card);
}

void journal_set_pages(struct journal *journal, json_t *pages)
{
    json_object_set_new(journal->json, "pages", pages);
}

void journal_set_state(struct journal *journal, const char *state)
{
    json_object_set_new(journal->json, "state", json_string(state));
    json_object_set_new(journal->json, "ended", strcmp(state, "running") == 0 ? json_null() : utc_now());
}

int journal_write(const struct journal *journal)
{
    char *text = json_dumps(journal->json, JOURNAL_FORMAT);
    CHECK(text != NULL);
    char *lines = words("%s\n", text);
    int result = file_write(journal->file, lines, strlen(lines));
    if (result < 0)
        fprintf(stderr, "millbench run: %s: cannot be written: %s\n", journal->file, strerror(errno));
    free(lines);
    free(text);
    return result;
}

void journal_fini(struct journal *journal)
{
    json_decref(journal->json);
    free(journal->file);
    *journal = (struct journal){0};
}
