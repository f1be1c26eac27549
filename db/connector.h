/*
 * connector.h: making one connection without blocking, on whichever of the hosts comes first in turn and will have us; each
 * has connect_timeout. (Only names are resolved by the call that begins with a host, and that may block.)
 *
 * One thread at a time. The connection that it makes speaks UTF-8, tells the report its notices, and has statement_timeout at
 * query_timeout_ms (not with prepare = no: pgbouncer refuses such options).
 */
#ifndef DB_CONNECTOR_H
#define DB_CONNECTOR_H

#include <stdint.h>

#include "service.h"

enum connector_state {
    CONNECTOR_READ,  /* step again when the socket can be read */
    CONNECTOR_WRITE, /* or written */
    CONNECTOR_DONE,  /* take it */
    CONNECTOR_FAILED /* with every host: see `why` */
};

struct connector {
    struct service *service;
    PGconn *connection;  /* of the present try */
    int number;          /* of the present try */
    int64_t end_us;      /* its time limit: step again then, too */
    char why[400];       /* each host's first line of what was wrong */
};

/* Begins. The state says what to wait for; afterwards connector_step or connector_stop. */
enum connector_state connector_start(struct connector *connector, struct service *service) MR_MUST_CHECK;

/* Goes on when the socket is ready or `end_us` has passed, not earlier. The socket may be another one afterwards, also one
 * of the same number. */
enum connector_state connector_step(struct connector *connector) MR_MUST_CHECK;

/* After CONNECTOR_DONE: the connection, the caller's to finish. */
PGconn *connector_take(struct connector *connector) MR_MUST_CHECK;

/* Adds to `why` that the present host did not answer in time. */
void connector_note_silence(struct connector *connector);

/* Gives up, at any time. */
void connector_stop(struct connector *connector);

#endif
