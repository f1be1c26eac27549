/* report.c: see report.h. Runs on any thread. */
#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

enum { INTERVAL_US = 1000000, SQL_SHOWN = 60 };

void report_init(struct report *report, const struct mr_route *route)
{
    memset(report, 0, sizeof *report);
    report->route = route;
}

/* True for the one that may write now. Relaxed: the lines of different threads need no order. */
static bool is_due(struct report_count *count)
{
    int64_t now_us = clock_now_us();
    int64_t due_us = atomic_load_explicit(&count->due_us, memory_order_relaxed);
    if (now_us >= due_us && atomic_compare_exchange_strong_explicit(&count->due_us, &due_us, now_us + INTERVAL_US,
                                                                    memory_order_relaxed, memory_order_relaxed))
        return true;
    atomic_fetch_add_explicit(&count->dropped, 1, memory_order_relaxed);
    return false;
}

void report_write(struct report *report, enum report_kind kind, const char *what, const char *why)
{
    struct report_count *count = &report->counts[kind];
    if (!is_due(count))
        return;
    unsigned dropped = atomic_exchange_explicit(&count->dropped, 0, memory_order_relaxed);
    int length = (int)strcspn(why, "\n");
    if (dropped > 0)
        mr_route_log(report->route, "database: %s: %.*s (and %u times since the line before)", what, length, why,
                     dropped);
    else
        mr_route_log(report->route, "database: %s: %.*s", what, length, why);
}

void report_notice(struct report *report, const PGresult *notice)
{
    const char *said = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    report_write(report, REPORT_NOTICE, "the server says", said == NULL ? PQresultErrorMessage(notice) : said);
}

static void take_notice(void *report, const PGresult *notice)
{
    report_notice(report, notice);
}

void report_notices(struct report *report, PGconn *connection)
{
    PQsetNoticeReceiver(connection, take_notice, report);
}

void report_statement(struct report *report, const struct pg_statement *statement, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (said == NULL)
        said = PQresultErrorMessage(result);
    if (state != NULL && strncmp(state, "22", 2) == 0)
        said = "a value that does not fit";
    int shown = (int)strcspn(statement->sql, "\n");
    char what[160];
    snprintf(what, sizeof what, "refused %s: %.*s%s", state == NULL ? "" : state, shown > SQL_SHOWN ? SQL_SHOWN : shown,
             statement->sql, shown > SQL_SHOWN ? "..." : "");
    report_write(report, REPORT_STATEMENT, what, said);
}
