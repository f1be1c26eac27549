/*
 * pipeline.h: one session in libpq's pipeline mode: which queries were sent on it, and which of them is being answered.
 *
 * Statements that only read share a Sync, and so one implicit transaction and one answer: where one fails, those behind it
 * in its group are not executed. The groups become smaller while statements fail, larger while none does. Every other statement has
 * a Sync before and behind, and has not succeeded before that one is answered: only then it is committed.
 *
 * Knows nothing of the runtime. Under the dispatcher's lock. Nothing here blocks.
 */
#ifndef DB_PIPELINE_H
#define DB_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "session.h"

enum { PIPELINE_DEPTH = 128 }; /* most queries that are sent and not answered */

struct pipeline {
    struct session *session; /* NULL: there is none */
    struct list sent;        /* queries whose end has not come */
    int count;               /* of them */
    int nulls;               /* that libpq gave one after another */
    int group_limit;         /* how many may share a Sync */
    int group_size;          /* so far, of the one that is being answered */
    bool group_failed;       /* the same */
    bool *preparing;         /* by the statements' numbers: asked for, and not answered */
    bool *stale;             /* the same: to be forgotten before it is prepared again */
    uint64_t groups;         /* that were answered so far */
};

void pipeline_init(struct pipeline *pipeline);

/* Takes a session whose connection is open, idle and not blocking. Returns 0; −1 when it cannot be used, and then it is still the caller's. */
int pipeline_open(struct pipeline *pipeline, struct session *session) MR_MUST_CHECK;

/* Closes it. What was sent goes to `left`, in order. */
void pipeline_close(struct pipeline *pipeline, struct list *left);

/* Sends the queries at the head of the queue, `count` of them, and moves them to `sent`; some may stay where they are until others
 * are answered. Returns how many were sent, −1 when the connection is lost. */
int pipeline_send(struct pipeline *pipeline, struct list *queue, int count) MR_MUST_CHECK;

/* What the server remembers of a statement does not fit any more. */
void pipeline_forget(struct pipeline *pipeline, int number);

/* Returns 1 when libpq could not send everything yet, 0 when it has, −1 when the connection is lost. */
int pipeline_flush(struct pipeline *pipeline) MR_MUST_CHECK;

/* Reads what has come. The queries that were answered go to `answered`, in order, with their `rows` and `fault`. Returns 0, −1 when the
 * connection is lost. */
int pipeline_read(struct pipeline *pipeline, struct list *answered) MR_MUST_CHECK;

/* Whether the server works on something that nobody waits for: the first query, or one that shares its Sync. */
bool pipeline_works_in_vain(const struct pipeline *pipeline);

#endif
