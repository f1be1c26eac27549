/*
 * option.c: the table of options, and texts made from it. Pure but for printing.
 */
#include "control/option.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/settings.h"

#define G   OPTION_GLOBAL
#define A   OPTION_APP
#define MIB (INT64_C(1) << 20)

const struct option option_table[] = {
    {"fastcgi", OPTION_LIST, G, 0, 0, NULL, "FastCGI listeners: unix:/path, 127.0.0.1:9000 or [::1]:9000"},
    {"http", OPTION_LIST, G, 0, 0, NULL, "HTTP listeners, for the same applications without a front end"},
    {"forwarded_from", OPTION_LIST, G, 0, 0, NULL,
     "networks whose X-Forwarded-... lines count: 10.0.0.0/8, ::1 or unix"},
    {"proxy_protocol_from", OPTION_LIST, G, 0, 0, NULL,
     "networks whose HTTP connections begin with a PROXY protocol header"},
    {"status", OPTION_TEXT, G, 0, 0, NULL, "status listener, apart from the others: 127.0.0.1:8082 or unix:/path"},
    {"socket_mode", OPTION_MODE, G, 0, 0777, "0660", "file mode of unix sockets"},
    {"socket_owner", OPTION_TEXT, G, 0, 0, NULL, "owner of unix sockets (needs root)"},
    {"socket_group", OPTION_TEXT, G, 0, 0, NULL, "group of unix sockets, for instance the web server's"},
    {"backlog", OPTION_COUNT, G, 1, 65535, "4096", "connections that may wait to be accepted (somaxconn caps it)"},
    {"workers", OPTION_COUNT, G, 1, 1024, "2", "worker processes"},
    {"lanes", OPTION_COUNT, G, 0, 256, "auto", "event loops a worker; auto: CPUs divided by workers, at least 1"},
    {"threads", OPTION_COUNT, G, 2, SETTINGS_THREADS_MAX, "32",
     "threads a worker, started in advance; must exceed lanes"},
    {"max_waiting", OPTION_COUNT, G, 0, SETTINGS_WAITING_MAX, "256",
     "handlers a worker that may wait for slow clients beside its threads"},
    {"user", OPTION_TEXT, G, 0, 0, "www-data", "what workers run as when started by root"},
    {"group", OPTION_TEXT, G, 0, 0, NULL, "their group; the user's own when not set"},
    {"log", OPTION_TEXT, G, 0, 0, NULL, "log file; standard error when not set"},
    {"access_log", OPTION_TEXT, G, 0, 0, NULL, "a line for each request goes there; see millrace.conf(5)"},
    {"pid_file", OPTION_TEXT, G, 0, 0, NULL, "written when every worker is ready, removed at the end"},
    {"max_params_bytes", OPTION_BYTES, G, 1024, 16 * MIB, "64K", "largest environment of a request"},
    {"max_body", OPTION_BYTES, G | A, 0, INT64_C(1) << 50, "1M", "largest request body; more is answered 413"},
    {"head_timeout", OPTION_SECONDS, G, 1, 86400, "30", "for a request's environment to arrive"},
    {"body_timeout", OPTION_SECONDS, G, 1, 86400, "30", "between two pieces of a request body"},
    {"write_timeout", OPTION_SECONDS, G, 1, 86400, "60", "for the peer to read a piece of the answer"},
    {"idle_timeout", OPTION_SECONDS, G, 1, 86400, "120", "of a kept connection; above nginx's keepalive_timeout"},
    {"queue_ms", OPTION_MILLISECONDS, G, 0, 60000, "40", "how long a request waits for a thread; then 503"},
    {"queue_limit", OPTION_COUNT, G, 0, 1000000, "1024", "how many requests a lane lets wait; more are answered 503"},
    {"request_timeout", OPTION_SECONDS, G | A, 0, 86400, "30", "for a handler; then it is logged as slow; 0: no limit"},
    {"request_grace", OPTION_SECONDS, G | A, 0, 86400, "0",
     "after request_timeout; then its worker is replaced; 0: never"},
    {"max_requests", OPTION_COUNT, G, 0, INT64_C(1) << 50, "0", "requests after which a worker is replaced; 0: never"},
    {"max_memory", OPTION_BYTES, G, 0, INT64_C(1) << 50, "0",
     "resident memory at which a worker is replaced; 0: never"},
    {"core", OPTION_FLAG, G, 0, 0, "false", "a worker that crashes leaves a core file"},
    {"start_timeout", OPTION_SECONDS, G, 1, 86400, "60", "for a worker to become ready; then it is killed"},
    {"stop_timeout", OPTION_SECONDS, G, 1, 86400, "30", "for requests to end after SIGTERM; then workers are killed"},
    {"file", OPTION_TEXT, A, 0, 0, NULL, "the application's shared object (required)"},
    {"max_busy", OPTION_COUNT, A, 0, 10000, "0", "handlers of this route at once in a worker, others wait; 0: threads"},
    {"blocking", OPTION_FLAG, A, 0, 0, "false", "the handler usually waits: its lane goes on without trying it first"},
};

const size_t option_count = COUNT_OF(option_table);

const struct option *option_find(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

static int64_t unit_of(char suffix)
{
    switch (suffix) {
    case 'K':
    case 'k':
        return 1 << 10;
    case 'M':
    case 'm':
        return 1 << 20;
    case 'G':
    case 'g':
        return 1 << 30;
    default:
        return 0;
    }
}

const char *option_read_number(const struct option *option, const char *text, int64_t *number)
{
    if (option->lowest == 0 && option->unset != NULL && strcmp(option->unset, "auto") == 0) {
        if (strcmp(text, "auto") == 0) {
            *number = 0;
            return NULL;
        }
    }
    const char *digits = option->type == OPTION_MODE ? "01234567" : "0123456789";
    size_t length = strspn(text, digits);
    if (length == 0 || length > 17)
        return option->type == OPTION_MODE ? "is no octal file mode" : "is no number";
    int64_t value = strtoll(text, NULL, option->type == OPTION_MODE ? 8 : 10);
    int64_t unit = 1;
    if (option->type == OPTION_BYTES && text[length] != '\0')
        unit = unit_of(text[length++]);
    if (text[length] != '\0' || unit == 0)
        return option->type == OPTION_BYTES ? "is no number of bytes (like 65536, 64K, 1M)" : "is no number";
    if (value > option->highest / unit || value * unit < option->lowest)
        return "is out of range";
    *number = value * unit;
    return NULL;
}

static const char *type_text(const struct option *option)
{
    static const char *const texts[] = {
        [OPTION_COUNT] = "number",     [OPTION_BYTES] = "bytes",   [OPTION_SECONDS] = "seconds",
        [OPTION_MILLISECONDS] = "ms",  [OPTION_MODE] = "octal",    [OPTION_TEXT] = "text",
        [OPTION_FLAG] = "true, false", [OPTION_LIST] = "{ list }",
    };
    return texts[option->type];
}

static void print_help_of(FILE *to, int scope)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (!(option->scopes & scope))
            continue;
        fprintf(to, "  %-20s %-12s %-9s %s\n", option->name, type_text(option), option->unset ? option->unset : "-",
                option->help);
    }
}

void option_print_help(FILE *to)
{
    fprintf(to, "Options of the configuration: name, type, default, meaning.\n");
    print_help_of(to, OPTION_GLOBAL);
    fprintf(to, "Inside app \"/route\" { }, with a free options { name = \"value\" } block for the application:\n");
    print_help_of(to, OPTION_APP);
}
