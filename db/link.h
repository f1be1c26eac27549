/*
 * link.h: one of a lane's connections, from being made to being lost. Under the dispatcher's lock; the steps of connecting alone leave it,
 * since names may have to be resolved.
 */
#ifndef DB_LINK_H
#define DB_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "connector.h"
#include "pipeline.h"

struct interrupt;
struct dispatcher;

enum link_state { LINK_CLOSED, LINK_OPENING, LINK_OPEN };

struct link {
    struct dispatcher *dispatcher;
    enum link_state state;
    struct connector connector;
    bool begun;             /* connecting, with the first host */
    bool stepping;          /* a thread is in the connector, without the lock */
    struct mr_timer *timer; /* of the connector */
    struct mr_watch *watch;
    int fd; /* a second descriptor of the connection's socket: libpq closes its own when the connection breaks; −1: none */
    int events; /* of it */
    struct pipeline pipeline;
    int64_t opened_us;
    bool proven;      /* it has answered something */
    bool told;        /* the server has said, between two queries, that it ends the session */
    int64_t since_us; /* since when the server is at the group that comes first */

    struct interrupt *interrupt; /* a cancel is under way: nothing new is sent */
    int64_t cancelled_us;        /* when the last one was begun; 0: never */
    int64_t give_up_us;          /* until when it has to have an effect; 0: there is none to come */
    uint64_t cancelled_groups;   /* that were answered when it was begun */
};

/* Returns 0, −1 when memory is short. */
int link_init(struct link *link, struct dispatcher *dispatcher) MR_MUST_CHECK;

/* When nothing of the runtime's calls back any more. What was sent goes to `left`. */
void link_fini(struct link *link, struct list *left);

void link_open(struct link *link);

/* Whether it takes a batch. */
bool link_is_free(const struct link *link);

/* Whether its batch is about to be answered, as far as one can tell. */
bool link_is_quick(const struct link *link, int64_t now_us);

void link_send(struct link *link, struct list *queue, int64_t now_us);

/* Cancels what nobody waits for, gives up a server that does not react. Returns when it wants to be looked at again, 0: not by
 * itself. */
int64_t link_look(struct link *link, int64_t now_us);

#endif
