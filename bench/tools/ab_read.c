/*
 * ab_read.c: what ab printed, and its file of times. Reads; judges nothing.
 *
 * Its table of times on standard output has whole milliseconds and a median that averages two neighbours when their
 * number is odd; none of it is kept. The file of -e is exact to a microsecond.
 */
#include <math.h>
#include <string.h>

#include "tools/ab.h"
#include "tools/printout.h"

#define AT(field) offsetof(struct ab_reading, field)

static const struct printout_form forms[] = {
    PRINTOUT_FORM("Document Length:", " %d bytes", false, AT(document_bytes)),
    PRINTOUT_FORM("Document Length:", " Variable", false, 0),
    PRINTOUT_FORM("Concurrency Level:", " %d", true, AT(concurrency)),
    PRINTOUT_FORM("Time taken for tests:", " %f seconds", true, AT(taken_s)),
    PRINTOUT_FORM("Complete requests:", " %d", true, AT(complete)),
    PRINTOUT_FORM("Failed requests:", " %d", true, AT(failed)),
    PRINTOUT_FORM("(Connect:", " %d, Receive: %d, Length: %d, Exceptions: %d)", false, AT(failed_connect),
                  AT(failed_receive), AT(failed_length), AT(failed_exceptions)),
    PRINTOUT_FORM("Write errors:", " %d", false, AT(write_errors)),
    PRINTOUT_FORM("Non-2xx responses:", " %d", false, AT(non_2xx)),
    PRINTOUT_FORM("Keep-Alive requests:", " %d", false, AT(keep_alive)),
    PRINTOUT_FORM("Total transferred:", " %d bytes", true, AT(total_bytes)),
    PRINTOUT_FORM("HTML transferred:", " %d bytes", true, AT(html_bytes)),
    PRINTOUT_FORM("Requests per second:", " %f [#/sec] (mean)", true, AT(requests_per_s)),
    PRINTOUT_FORM("Time per request:", " %f [ms] (mean)", true, AT(request_ms)),
    PRINTOUT_FORM("Time per request:", " %f [ms] (mean, across all concurrent requests)", true, AT(across_request_ms)),
    PRINTOUT_FORM("Transfer rate:", " %f [Kbytes/sec] received", true, AT(kib_per_s)),
};

/* The last line of an output; not there when no more than one request was done. */
static const struct printout_form last_line[] = {
    PRINTOUT_FORM("100%", " %d (longest request)", true, PRINTOUT_IGNORE),
};

static const struct ab_reading nothing = {
    .document_bytes = -1,
    .concurrency = -1,
    .taken_s = NAN,
    .complete = -1,
    .failed = -1,
    .failed_connect = -1,
    .failed_receive = -1,
    .failed_length = -1,
    .failed_exceptions = -1,
    .write_errors = -1,
    .non_2xx = -1,
    .keep_alive = -1,
    .total_bytes = -1,
    .html_bytes = -1,
    .requests_per_s = NAN,
    .request_ms = NAN,
    .across_request_ms = NAN,
    .kib_per_s = NAN,
};

static bool is_variable(struct span output)
{
    struct span line;
    static const char label[] = "Document Length:";
    while (printout_line(&output, &line))
        if (line.length > sizeof label - 1 && memcmp(line.at, label, sizeof label - 1) == 0)
            return memmem(line.at, line.length, "Variable", 8) != NULL;
    return false;
}

int ab_read(const char *output, size_t size, struct ab_reading *reading)
{
    struct span text = span_of(output, size);
    *reading = nothing;
    reading->fault = printout_read(forms, COUNT_OF(forms), text, reading);
    if (is_variable(text))
        reading->document_bytes = AB_VARIABLE;
    if (reading->fault == NULL && reading->document_bytes == -1)
        reading->fault = "the line \"Document Length:\" is missing";
    if (reading->fault == NULL && reading->complete > 1)
        reading->fault = printout_read(last_line, COUNT_OF(last_line), text, reading);
    return reading->fault == NULL ? 0 : -1;
}

/* "50,0.221". Returns NULL, or the sentence. */
static const char *read_row(struct span line, int64_t expected, double *ms)
{
    int64_t percent;
    if (!printout_count(&line, &percent) || line.length == 0 || *line.at != ',')
        return "the file of times has a line that cannot be read";
    span_take(&line, 1);
    if (percent != expected)
        return "the file of times lacks a per cent";
    if (!printout_real(&line, ms) || !isfinite(*ms) || *ms < 0)
        return "the file of times has a time that cannot be read";
    if (line.length > 0)
        return *line.at == ',' ? "the file of times has decimal commas: it ran without LC_ALL=C"
                               : "the file of times has a line that cannot be read";
    return NULL;
}

static const char *read_rows(struct span text, double *ms)
{
    struct span line;
    if (!printout_line(&text, &line))
        return "the file of times is empty";
    if (!span_is(line, "Percentage served,Time in ms"))
        return "the file of times does not begin as ab's does";
    for (int i = 0; i < AB_PERCENTILES; i++) {
        if (!printout_line(&text, &line))
            return "the file of times ends early";
        const char *fault = read_row(line, i, &ms[i]);
        if (fault != NULL)
            return fault;
        if (i > 0 && ms[i] < ms[i - 1])
            return "the file of times has times that fall";
    }
    return text.length == 0 ? NULL : "the file of times goes on after 100 per cent";
}

int ab_read_times(const char *csv, size_t size, struct ab_times *times)
{
    for (int i = 0; i < AB_PERCENTILES; i++)
        times->ms[i] = NAN;
    times->fault = read_rows(span_of(csv, size), times->ms);
    return times->fault == NULL ? 0 : -1;
}
