/*
 * ab.h: ApacheBench (ab of Debian's apache2-utils) as a witness: its command, what it printed, and whether that counts.
 *
 * Its "Requests per second" counts failures, so no number of a reading may be used before ab_judge accepted it.
 */
#ifndef BENCH_TOOLS_AB_H
#define BENCH_TOOLS_AB_H

#include <stddef.h>
#include <stdint.h>

#include "tools/tool.h"

#define AB_CONCURRENCY_MAX 20000
#define AB_REQUESTS_MAX    100000000 /* it remembers each in memory */
#define AB_PERCENTILES     101       /* 0 to 100 */
#define AB_VARIABLE        (-2)      /* in place of a length: it ran with -l and compared none */

/* A count that was not printed is −1, a real number NAN. ab leaves out the lines Write errors, Non-2xx responses,
 * Keep-Alive requests (without -k) and the four kinds of failures when there are none. */
struct ab_reading {
    const char *fault; /* why the output is not whole, a sentence; NULL: it is */

    int64_t document_bytes; /* length of the first reply's body, which ab expects of all, or AB_VARIABLE */
    int64_t concurrency;
    double taken_s;
    int64_t complete; /* good and bad ones together */
    int64_t failed;   /* non-2xx replies are not among them */
    int64_t failed_connect, failed_receive, failed_length, failed_exceptions;
    int64_t write_errors;
    int64_t non_2xx;
    int64_t keep_alive; /* replies after which the connection was kept */
    int64_t total_bytes, html_bytes;
    double requests_per_s;
    double request_ms;        /* concurrency × time ÷ requests: mean service time */
    double across_request_ms; /* time ÷ requests: the inverse of the rate, no time that any request took */
    double kib_per_s;
};

/* ab -e: the time within which so many per cent of the requests were served. */
struct ab_times {
    const char *fault;         /* as above */
    double ms[AB_PERCENTILES]; /* by per cent, never falling; 100 is the longest */
};

/* Writes the command into `command`. Returns 0; or −1 when ab cannot do what is asked, with command->why saying why.
 * Runs by time get -t first and -n after it, since -t sets n. Without -r the first reset ends ab: what is wanted. */
int ab_command(const struct tool_settings *settings, struct tool_command *command) MUST_CHECK;

/* Reads what ab printed on standard output. Borrows nothing, allocates nothing, reads no byte beyond `size`.
 * Returns 0 when the output is whole, −1 with reading->fault when it is empty, cut, or has a number that cannot be
 * read; what was read until then is in the reading. */
int ab_read(const char *output, size_t size, struct ab_reading *reading) MUST_CHECK;

/* Reads the file of -e, which means nothing for 50 requests or fewer: ab reads beyond its array then. Returns 0, or −1 with times->fault. */
int ab_read_times(const char *csv, size_t size, struct ab_times *times) MUST_CHECK;

/* Adds to the ruling (ruling_init is the caller's) all that speaks against the run. `reading` is that of ab_read,
 * whether or not it succeeded. */
void ab_judge(const struct ab_reading *reading, const struct tool_settings *settings, const struct tool_exit *ended,
              struct ruling *ruling);

#endif
