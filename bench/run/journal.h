/* journal.h: run.json: what was to be measured, on what machine, in which order, and how far it has come.
 *
 * Written anew after every change, whole.
 */
#ifndef RUN_JOURNAL_H
#define RUN_JOURNAL_H

#include <jansson.h>
#include <stdint.h>

#include "observe/layout.h"
#include "run/plan.h"
#include "run/target.h"

struct journal {
    char *file;
    json_t *json;
    uint64_t seed;
};

/* A new run. Takes over the fingerprint. */
void journal_begin(struct journal *journal, const char *folder, const struct plan *plan, uint64_t seed,
                   const struct layout *layout, json_t *fingerprint);

/* An earlier one, to go on with. Returns NULL, or why that cannot be, which the caller frees: it is not there or broken, it is
 * complete, its method, its fingerprint or what was built is another. Takes over the fingerprint. */
char *journal_resume(struct journal *journal, const char *folder, json_t *fingerprint) __attribute__((warn_unused_result));

/* One start of a server: its facts and groups. */
void journal_add_start(struct journal *journal, const struct target *target, int round);

/* One card of equal work; taken over. A card of the same page is replaced. */
void journal_add_card(struct journal *journal, const struct target *target, const struct target_page *page, json_t *card);

/* What came of it: pages are taken over; state is running, interrupted or complete. */
void journal_set_pages(struct journal *journal, json_t *pages);
void journal_set_state(struct journal *journal, const char *state);

/* Returns 0, -1 after a line on standard error. */
int journal_write(const struct journal *journal) __attribute__((warn_unused_result));

void journal_fini(struct journal *journal);

#endif
