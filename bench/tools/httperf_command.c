/*
 * httperf_command.c: httperf's command line. Decides; runs nothing.
 */
#include <math.h>

#include "tools/httperf.h"

#define SLACK_S 10 /* to start, connect and print */

struct amount {
    int64_t connections, calls; /* calls: of each connection */
};

static int64_t round_up(double number, int64_t step)
{
    return (int64_t)ceil(number / (double)step) * step;
}

static int burst_length(const struct tool_settings *settings)
{
    return settings->burst_length > 0 ? settings->burst_length : 1;
}

static int refuse_what_httperf_cannot(const struct tool_settings *settings, struct tool_command *command)
{
    if (tool_check_settings(command, settings) < 0)
        return -1;
    if (settings->concurrency > HTTPERF_CONNECTIONS_MAX)
        return tool_refuse(command, "httperf selects on at most 1024 descriptors: %d connections are more than %d",
                           settings->concurrency, HTTPERF_CONNECTIONS_MAX);
    if (settings->requests == 0 && !(settings->rate_per_s > 0))
        return tool_refuse(command,
                           "httperf has no time limit, and without an expected rate there is no number of requests");
    if (settings->burst_length < 0 || (!settings->keep_alive && burst_length(settings) > 1))
        return tool_refuse(command, "a burst of %d requests needs connections that are kept", settings->burst_length);
    if (!settings->keep_alive && !(settings->connections_per_s > 0))
        return tool_refuse(command, "without keep-alive httperf's load is a rate of connections, and none is given");
    return 0;
}

/* Requests that were asked for are made to the letter or not at all. */
static int divide(const struct tool_settings *settings, struct amount *amount, struct tool_command *command)
{
    int burst = burst_length(settings);
    if (settings->requests % settings->concurrency != 0)
        return tool_refuse(command, "%lld requests do not divide among %d connections", (long long)settings->requests,
                           settings->concurrency);
    amount->calls = settings->requests / settings->concurrency;
    if (amount->calls % burst != 0)
        return tool_refuse(command,
                           "%lld requests of a connection are no multiple of the burst's %d: httperf would hang",
                           (long long)amount->calls, burst);
    return 0;
}

static int check_closes(const struct tool_settings *settings, struct amount *amount, struct tool_command *command)
{
    int64_t most = settings->requests_per_connection;
    if (most == 0 || amount->calls <= most)
        return 0;
    if (settings->requests > 0 || most < burst_length(settings))
        return tool_refuse(command,
                           "the server closes a connection after %lld requests, and httperf makes no other for the "
                           "rest of its %lld",
                           (long long)most, (long long)amount->calls);
    amount->calls = most - most % burst_length(settings);
    return 0;
}

/* Returns 0, or −1 when it was refused. */
static int choose(const struct tool_settings *settings, struct amount *amount, struct tool_command *command)
{
    double wanted = settings->requests > 0 ? (double)settings->requests : settings->rate_per_s * settings->seconds;
    if (wanted > 1e9)
        return tool_refuse(command, "%.0f requests are too many", wanted);
    amount->connections = settings->concurrency;
    if (!settings->keep_alive) {
        amount->connections = round_up(wanted, 1);
        amount->calls = 1;
        return 0;
    }
    if (settings->requests > 0 && divide(settings, amount, command) < 0)
        return -1;
    if (settings->requests == 0)
        amount->calls = round_up(wanted / settings->concurrency, burst_length(settings));
    return check_closes(settings, amount, command);
}

static double expected_s(const struct tool_settings *settings, const struct amount *amount)
{
    if (!settings->keep_alive)
        return (double)amount->connections / settings->connections_per_s;
    return settings->rate_per_s > 0 ? (double)(amount->connections * amount->calls) / settings->rate_per_s : NAN;
}

/* A kept connection must be over before HTTPERF_HELD_S_MAX; others only hang when they hang. */
static int set_limit(const struct tool_settings *settings, double expected, int timeout_s, struct tool_command *command)
{
    double held = settings->keep_alive ? expected : 0;
    if (held >= HTTPERF_HELD_S_MAX * 0.9)
        return tool_refuse(command, "connections would be held for %.0f s: from %d s on httperf writes beyond an array",
                           held, HTTPERF_HELD_S_MAX);
    command->limit_s = isnan(expected) ? HTTPERF_HELD_S_MAX - 1 : 5 * expected + timeout_s + SLACK_S;
    if (settings->keep_alive && command->limit_s > HTTPERF_HELD_S_MAX - 1)
        command->limit_s = HTTPERF_HELD_S_MAX - 1;
    return 0;
}

/* At least the page and a header, so that a reply needs no second turn. */
static int recv_buffer_bytes(const struct tool_settings *settings)
{
    const int64_t header = 1024, most = 1 << 20;
    int64_t bytes = settings->recv_buffer_bytes;
    if (bytes <= 0) {
        bytes = settings->body_bytes + header;
        bytes = bytes < HTTPERF_RECV_BUFFER_BYTES ? HTTPERF_RECV_BUFFER_BYTES : bytes;
    }
    return (int)(bytes > most ? most : bytes);
}

static void add_load(const struct tool_settings *settings, const struct amount *amount, struct tool_command *command)
{
    double rate = settings->connections_per_s > 0 ? settings->connections_per_s : HTTPERF_CONNECTIONS_PER_S;
    tool_add(command, "--rate=%.12g", rate);
    tool_add(command, "--num-conns=%lld", (long long)amount->connections);
    tool_add(command, "--num-calls=%lld", (long long)amount->calls);
    if (burst_length(settings) > 1)
        tool_add(command, "--burst-length=%d", burst_length(settings));
    if (settings->close_with_reset)
        tool_add(command, "--close-with-reset");
}

int httperf_command(const struct tool_settings *settings, struct tool_command *command)
{
    int timeout_s = settings->timeout_s > 0 ? settings->timeout_s : TOOL_TIMEOUT_S;
    struct amount amount = {.connections = 0};
    struct tool_url url;
    tool_begin(command, "httperf");
    if (refuse_what_httperf_cannot(settings, command) < 0 || choose(settings, &amount, command) < 0 ||
        set_limit(settings, expected_s(settings, &amount), timeout_s, command) < 0)
        return -1;
    CHECK(tool_split_url(settings->url, &url) == 0);
    tool_add(command, "--hog");
    tool_add(command, "--timeout=%d", timeout_s);
    tool_add(command, "--recv-buffer=%d", recv_buffer_bytes(settings));
    tool_add(command, "--server=%.*s", url.host_length, url.host);
    tool_add(command, "--port=%d", url.port);
    tool_add(command, "--uri=%s", url.path);
    add_load(settings, &amount, command);
    command->requests = amount.connections * amount.calls;
    return 0;
}
