/*
 * httperf_read.c: what httperf printed. Reads; judges nothing.
 */
#include <math.h>
#include <string.h>

#include "tools/httperf.h"
#include "tools/printout.h"

#define AT(field) offsetof(struct httperf_reading, field)
#define IGNORE    PRINTOUT_IGNORE

static const struct printout_form forms[] = {
    PRINTOUT_FORM("Maximum connect burst length:", " %d", true, AT(connect_burst)),
    PRINTOUT_FORM("Total:", " connections %d requests %d replies %d test-duration %f s", true, AT(connections),
                  AT(requests), AT(replies), AT(duration_s)),
    PRINTOUT_FORM("Connection rate:", " %f conn/s (%f ms/conn, <=%d concurrent connections)", true,
                  AT(connections_per_s), IGNORE, AT(concurrent_max)),
    PRINTOUT_FORM("Connection time [ms]:", " min %f avg %f max %f median %f stddev %f", true, AT(connection_min_ms),
                  AT(connection_avg_ms), AT(connection_max_ms), AT(connection_median_ms), IGNORE),
    PRINTOUT_FORM("Connection time [ms]:", " connect %f", true, AT(connect_ms)),
    PRINTOUT_FORM("Connection length [replies/conn]:", " %f", true, AT(replies_per_connection)),
    PRINTOUT_FORM("Request rate:", " %f req/s (%f ms/req)", true, AT(requests_per_s), IGNORE),
    PRINTOUT_FORM("Reply rate [replies/s]:", " min %f avg %f max %f stddev %f (%d samples)", true, AT(sampled_min),
                  AT(sampled_avg), AT(sampled_max), IGNORE, AT(samples)),
    PRINTOUT_FORM("Reply time [ms]:", " response %f transfer %f", true, AT(response_ms), AT(transfer_ms)),
    PRINTOUT_FORM("Reply size [B]:", " header %f content %f footer %f (total %f)", true, AT(header_bytes),
                  AT(content_bytes), IGNORE, IGNORE),
    PRINTOUT_FORM("Reply status:", " 1xx=%d 2xx=%d 3xx=%d 4xx=%d 5xx=%d", true, AT(replies_1xx), AT(replies_2xx),
                  AT(replies_3xx), AT(replies_4xx), AT(replies_5xx)),
    PRINTOUT_FORM("Errors:", " total %d client-timo %d socket-timo %d connrefused %d connreset %d", true, AT(errors),
                  AT(client_timeouts), AT(socket_timeouts), AT(refused), AT(reset)),
    PRINTOUT_FORM("Errors:", " fd-unavail %d addrunavail %d ftab-full %d other %d", true, AT(descriptors_unavailable),
                  AT(addresses_unavailable), AT(table_full), AT(other)),
};

static const struct httperf_reading nothing = {
    .asked_connections = -1,
    .asked_calls = -1,
    .asked_per_s = NAN,
    .asked_recv_buffer_bytes = -1,
    .connect_burst = -1,
    .connections = -1,
    .requests = -1,
    .replies = -1,
    .duration_s = NAN,
    .connections_per_s = NAN,
    .concurrent_max = -1,
    .connection_min_ms = NAN,
    .connection_avg_ms = NAN,
    .connection_max_ms = NAN,
    .connection_median_ms = NAN,
    .connect_ms = NAN,
    .replies_per_connection = NAN,
    .requests_per_s = NAN,
    .sampled_min = NAN,
    .sampled_avg = NAN,
    .sampled_max = NAN,
    .samples = -1,
    .response_ms = NAN,
    .transfer_ms = NAN,
    .header_bytes = NAN,
    .content_bytes = NAN,
    .replies_1xx = -1,
    .replies_2xx = -1,
    .replies_3xx = -1,
    .replies_4xx = -1,
    .replies_5xx = -1,
    .errors = -1,
    .client_timeouts = -1,
    .socket_timeouts = -1,
    .refused = -1,
    .reset = -1,
    .descriptors_unavailable = -1,
    .addresses_unavailable = -1,
    .table_full = -1,
    .other = -1,
};

/* Finds " --NAME=" in the line and leaves what follows in `value`. */
static bool find_option(struct span line, const char *name, struct span *value)
{
    size_t length = strlen(name);
    const uint8_t *at = memmem(line.at, line.length, name, length);
    if (at == NULL)
        return false;
    *value = span_of(at + length, line.length - (size_t)(at - line.at) - length);
    return true;
}

static bool is_over(struct span value)
{
    return value.length == 0 || *value.at == ' ';
}

static int64_t asked_count(struct span line, const char *name)
{
    struct span value;
    int64_t count;
    return find_option(line, name, &value) && printout_count(&value, &count) && is_over(value) ? count : -1;
}

static double asked_real(struct span line, const char *name)
{
    struct span value;
    double real;
    return find_option(line, name, &value) && printout_real(&value, &real) && is_over(value) ? real : NAN;
}

/* The first line repeats the command with the defaults; --rate is left out when it is 0. */
static void read_asked(struct span output, struct httperf_reading *reading)
{
    static const char name[] = "httperf ";
    struct span line, value;
    while (printout_line(&output, &line)) {
        if (line.length < sizeof name - 1 || memcmp(line.at, name, sizeof name - 1) != 0)
            continue;
        reading->asked_connections = asked_count(line, " --num-conns=");
        reading->asked_calls = asked_count(line, " --num-calls=");
        reading->asked_recv_buffer_bytes = asked_count(line, " --recv-buffer=");
        reading->asked_per_s = find_option(line, " --rate=", &value) ? asked_real(line, " --rate=") : 0;
        return;
    }
}

int httperf_read(const char *output, size_t size, struct httperf_reading *reading)
{
    struct span text = span_of(output, size);
    *reading = nothing;
    reading->fault = printout_read(forms, COUNT_OF(forms), text, reading);
    if (reading->samples <= 0)
        reading->sampled_min = reading->sampled_avg = reading->sampled_max = NAN;
    read_asked(text, reading);
    if (reading->fault == NULL && (reading->asked_connections < 0 || reading->asked_calls < 0))
        reading->fault = "the line that repeats the command, with --num-conns and --num-calls, is missing";
    return reading->fault == NULL ? 0 : -1;
}

double httperf_rate_per_s(const struct httperf_reading *reading)
{
    return reading->replies > 0 && reading->duration_s > 0 ? (double)reading->replies / reading->duration_s : NAN;
}
