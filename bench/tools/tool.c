/*
 * tool.c: commands as arguments, and the rules about how a tool ended. Knows no tool's options or output.
 */
#include "tools/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define URL_BYTES_MAX     1024
#define DEFAULT_HTTP_PORT 80

void tool_begin(struct tool_command *command, const char *program)
{
    command->argc = 0;
    command->used = 0;
    command->limit_s = 0;
    command->requests = 0;
    command->why[0] = '\0';
    command->environment[0] = "LC_ALL=C";
    command->environment[1] = NULL;
    tool_add(command, "%s", program);
}

void tool_add(struct tool_command *command, const char *format, ...)
{
    char *place = command->text + command->used;
    size_t room = sizeof command->text - command->used;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(place, room, format, values);
    va_end(values);
    CHECK(length >= 0 && (size_t)length < room && command->argc < TOOL_ARGUMENTS_MAX);
    command->used += (size_t)length + 1;
    command->argv[command->argc++] = place;
    command->argv[command->argc] = NULL;
}

int tool_refuse(struct tool_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(command->why, sizeof command->why, format, values);
    va_end(values);
    command->argc = 0;
    command->argv[0] = NULL;
    return -1;
}

int tool_check_settings(struct tool_command *command, const struct tool_settings *settings)
{
    struct tool_url parts;
    if (settings->url == NULL || strlen(settings->url) > URL_BYTES_MAX)
        return tool_refuse(command, "no URL, or one of more than %d bytes", URL_BYTES_MAX);
    if (tool_split_url(settings->url, &parts) < 0)
        return tool_refuse(command, "%.100s: not of the form http://ADDRESS[:PORT]/PATH", settings->url);
    if (settings->times_file != NULL && strlen(settings->times_file) > URL_BYTES_MAX)
        return tool_refuse(command, "the path of the file of times is longer than %d bytes", URL_BYTES_MAX);
    if (settings->concurrency < 1)
        return tool_refuse(command, "a concurrency of %d", settings->concurrency);
    if (settings->requests < 0 || settings->seconds < 0 || (settings->requests == 0 && !(settings->seconds > 0)))
        return tool_refuse(command, "neither a number of requests nor a time");
    return 0;
}

static int64_t port_number(const char *text, size_t length)
{
    int64_t port = span_number(span_of(text, length));
    return port >= 1 && port <= 65535 ? port : -1;
}

int tool_split_url(const char *url, struct tool_url *parts)
{
    static const char scheme[] = "http://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return -1;
    parts->host = url + sizeof scheme - 1;
    parts->host_length = (int)strspn(parts->host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
    const char *after = parts->host + parts->host_length;
    int64_t port = DEFAULT_HTTP_PORT;
    if (*after == ':') {
        size_t digits = strspn(after + 1, "0123456789");
        port = port_number(after + 1, digits);
        after += 1 + digits;
    }
    if (parts->host_length == 0 || parts->host[0] == '-' || port < 0 || *after != '/')
        return -1;
    for (const char *at = after; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == '#')
            return -1;
    parts->port = (int)port;
    parts->path = after;
    return 0;
}

/* ab's progress and httperf's warning, which is there on every start. */
static bool is_chatter(struct span line)
{
    static const char *const chatter[] = {"Completed ", "Finished ", "httperf: warning: open file limit"};
    for (size_t i = 0; i < COUNT_OF(chatter); i++)
        if (line.length >= strlen(chatter[i]) && memcmp(line.at, chatter[i], strlen(chatter[i])) == 0)
            return true;
    return line.length == 0;
}

/* Writes ": " and the first line of the error output that says something, or nothing. Returns `text`. */
static const char *first_error(struct span errors, char *text, size_t size)
{
    text[0] = '\0';
    while (errors.length > 0) {
        const uint8_t *end = memchr(errors.at, '\n', errors.length);
        struct span line = span_take(&errors, end == NULL ? errors.length : (size_t)(end - errors.at));
        if (end != NULL)
            span_take(&errors, 1);
        if (is_chatter(line))
            continue;
        snprintf(text, size, ": %.*s", (int)(line.length < size ? line.length : size), (const char *)line.at);
        for (char *at = text; *at != '\0'; at++)
            if (*at < ' ' || *at > '~')
                *at = '?';
        break;
    }
    return text;
}

void tool_judge_exit(const char *name, const struct tool_exit *ended, struct ruling *ruling)
{
    char said[140];
    first_error(ended->errors, said, sizeof said);
    if (ended->not_made != NULL)
        ruling_fail(ruling, "%s", ended->not_made);
    else if (!ended->started && ended->start_errno == ENOENT)
        ruling_fail(ruling, "%s is not installed", name);
    else if (!ended->started && ended->start_errno != 0)
        ruling_fail(ruling, "%s could not be started: %s", name, strerror(ended->start_errno));
    else if (!ended->started)
        ruling_fail(ruling, "%s could not be started", name);
    else if (ended->timed_out)
        ruling_fail(ruling, "%s did not end within its time and was ended after %.1f s%s", name, ended->seconds, said);
    else if (ended->signal != 0)
        ruling_fail(ruling, "%s crashed: signal %d (%s)%s", name, ended->signal, strsignal(ended->signal), said);
    else if (ended->exit_status != 0)
        ruling_fail(ruling, "%s ended with status %d%s", name, ended->exit_status, said);
    if (ended->started && !ended->server_alive)
        ruling_fail(ruling, "the server that was measured was gone afterwards");
}

void tool_judge_checks(const struct tool_check *checks, int count, struct ruling *ruling)
{
    for (int i = 0; i < count; i++) {
        const struct tool_check *check = &checks[i];
        if (!check->made || check->sent <= 0)
            ruling_void(ruling, "no replies were verified %s the run", check->when);
        else if (check->verified != check->sent)
            ruling_void(ruling, "only %lld of the %lld replies that were verified %s the run were right",
                        (long long)check->verified, (long long)check->sent, check->when);
    }
}
