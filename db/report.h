/*
 * report.h: what goes wrong with a route's database, in the server's log: one line for each kind and second, with the count of
 * those that it stands for. Any thread; without a lock.
 */
#ifndef DB_REPORT_H
#define DB_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "millrace_pg.h"

enum report_kind {
    REPORT_CONNECT,   /* no connection could be made */
    REPORT_BACK,      /* one could, after that */
    REPORT_LOST,      /* an open one was lost */
    REPORT_STATEMENT, /* the server refused a statement */
    REPORT_FULL,      /* too many want something at once */
    REPORT_LATE,      /* a statement's time was over */
    REPORT_CLEAN,     /* a connection could not be made clean */
    REPORT_NOTICE,    /* what the server wanted to say */
    REPORT_LIMITS,    /* more is configured than the server gives */
    REPORT_MISUSE,    /* the application called the library wrongly */
    REPORT_KINDS
};

struct report {
    const struct mr_route *route;
    struct report_count {
        _Atomic int64_t due_us; /* a line may be written from then on */
        atomic_uint dropped;
    } counts[REPORT_KINDS];
};

void report_init(struct report *report, const struct mr_route *route);

/* Writes "what: why", of `why` its first line alone: libpq's further lines quote statements and values. */
void report_write(struct report *report, enum report_kind kind, const char *what, const char *why);

void report_notice(struct report *report, const PGresult *notice);

/* Has a connection's notices reported. The report must live as long as the connection. */
void report_notices(struct report *report, PGconn *connection);

/* A statement that failed: its text, shortened, SQLSTATE, and what the server says, unless that quotes values (class 22). */
void report_statement(struct report *report, const struct pg_statement *statement, const PGresult *result);

#endif
