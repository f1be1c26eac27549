/*
 * ab_command.c: ab's command line. Decides; runs nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/ab.h"

#define REQUESTS_PER_S_MAX 200000 /* no server of this kind answers more to one client of one thread */
#define SLACK_S            10     /* to start, connect and print */

static int64_t whole_seconds(double seconds)
{
    return (int64_t)ceil(seconds);
}

/* Enough never to end a run by time, and at least one for each connection. */
static int64_t more_than_enough(const struct tool_settings *settings)
{
    double requests = (double)whole_seconds(settings->seconds) * REQUESTS_PER_S_MAX;
    return requests > AB_REQUESTS_MAX ? AB_REQUESTS_MAX : (int64_t)requests;
}

static double limit_s(const struct tool_settings *settings, int timeout_s)
{
    if (settings->requests == 0)
        return (double)whole_seconds(settings->seconds) + timeout_s + SLACK_S;
    if (settings->rate_per_s > 0)
        return 5 * (double)settings->requests / settings->rate_per_s + timeout_s + SLACK_S;
    return 3600;
}

static int refuse_what_ab_cannot(const struct tool_settings *settings, struct tool_command *command)
{
    if (tool_check_settings(command, settings) < 0)
        return -1;
    if (settings->concurrency > AB_CONCURRENCY_MAX)
        return tool_refuse(command, "ab can do %d requests at once, not %d", AB_CONCURRENCY_MAX, settings->concurrency);
    if (settings->requests > AB_REQUESTS_MAX)
        return tool_refuse(command, "ab remembers every request in memory: %lld are too many",
                           (long long)settings->requests);
    if (settings->requests > 0 && settings->requests < settings->concurrency)
        return tool_refuse(command, "ab cannot have %d requests at once of only %lld", settings->concurrency,
                           (long long)settings->requests);
    if (settings->requests == 0 && settings->seconds > AB_REQUESTS_MAX / 1000)
        return tool_refuse(command, "ab cannot run for %.0f s", settings->seconds);
    return 0;
}

int ab_command(const struct tool_settings *settings, struct tool_command *command)
{
    int timeout_s = settings->timeout_s > 0 ? settings->timeout_s : TOOL_TIMEOUT_S;
    tool_begin(command, "ab");
    if (refuse_what_ab_cannot(settings, command) < 0)
        return -1;
    if (settings->keep_alive)
        tool_add(command, "-k");
    if (settings->variable_length)
        tool_add(command, "-l");
    if (settings->continue_after_reset)
        tool_add(command, "-r");
    tool_add(command, "-s");
    tool_add(command, "%d", timeout_s);
    tool_add(command, "-c");
    tool_add(command, "%d", settings->concurrency);
    if (settings->requests == 0) {
        tool_add(command, "-t");
        tool_add(command, "%lld", (long long)whole_seconds(settings->seconds));
    }
    tool_add(command, "-n");
    tool_add(command, "%lld", (long long)(settings->requests > 0 ? settings->requests : more_than_enough(settings)));
    if (settings->times_file != NULL) {
        tool_add(command, "-e");
        tool_add(command, "%s", settings->times_file);
    }
    tool_add(command, "%s", settings->url);
    command->requests = settings->requests;
    command->limit_s = limit_s(settings, timeout_s);
    return 0;
}
