/* connector.c: see connector.h. */
#include "connector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { KEYWORDS_MAX = 64 };

struct keywords {
    const char *names[KEYWORDS_MAX + 1], *values[KEYWORDS_MAX + 1];
    int count;
    char server_options[512];
};

static void add(struct keywords *keywords, const char *name, const char *value)
{
    if (keywords->count == KEYWORDS_MAX || value == NULL)
        return;
    keywords->names[keywords->count] = name;
    keywords->values[keywords->count++] = value;
}

/* What the connection string says, between what holds if it says nothing and what holds in any case. */
static void fill(struct keywords *keywords, const struct service *service, int number)
{
    const struct options *options = &service->options;
    keywords->count = 0;
    add(keywords, "fallback_application_name", "millrace");
    add(keywords, "client_encoding", "UTF8");
    for (const PQconninfoOption *option = options->conninfo; option->keyword != NULL; option++)
        if (!hosts_replace(&service->hosts, option->keyword))
            add(keywords, option->keyword, option->val);
    keywords->count +=
        hosts_keywords(&service->hosts, number, keywords->names + keywords->count, keywords->values + keywords->count);
    if (options->prepare) {
        const char *given = options_conninfo(options, "options");
        snprintf(keywords->server_options, sizeof keywords->server_options, "%s -c statement_timeout=%d",
                 given == NULL ? "" : given, options->query_timeout_ms);
        add(keywords, "options", keywords->server_options);
    }
    keywords->names[keywords->count] = keywords->values[keywords->count] = NULL;
}

static void note(struct connector *connector, const char *why)
{
    size_t length = strlen(connector->why);
    snprintf(connector->why + length, sizeof connector->why - length, "%s%.*s", length == 0 ? "" : "; ",
             (int)strcspn(why, "\n"), why);
}

void connector_note_silence(struct connector *connector)
{
    const char *host = PQhost(connector->connection), *port = PQport(connector->connection);
    char why[200];
    snprintf(why, sizeof why, "connection to server at \"%s\", port %s: no answer in time", host == NULL ? "" : host,
             port == NULL ? "" : port);
    note(connector, why);
}

/* Begins with the present host or, where that fails at once, a later one. */
static enum connector_state begin(struct connector *connector)
{
    struct service *service = connector->service;
    for (; connector->number < service->hosts.tries; connector->number++) {
        struct keywords keywords;
        fill(&keywords, service, connector->number);
        connector->connection = PQconnectStartParams(keywords.names, keywords.values, 0);
        if (PQstatus(connector->connection) != CONNECTION_BAD) {
            report_notices(&service->report, connector->connection);
            connector->end_us = clock_now_us() + (int64_t)service->options.connect_timeout_ms * 1000;
            return CONNECTOR_WRITE;
        }
        note(connector, connector->connection == NULL ? "no memory" : PQerrorMessage(connector->connection));
        connector_stop(connector);
    }
    return CONNECTOR_FAILED;
}

static enum connector_state begin_next(struct connector *connector)
{
    connector_stop(connector);
    connector->number++;
    return begin(connector);
}

enum connector_state connector_start(struct connector *connector, struct service *service)
{
    connector->service = service;
    connector->connection = NULL;
    connector->number = 0;
    connector->why[0] = '\0';
    return begin(connector);
}

enum connector_state connector_step(struct connector *connector)
{
    if (clock_now_us() >= connector->end_us) {
        connector_note_silence(connector);
        return begin_next(connector);
    }
    switch (PQconnectPoll(connector->connection)) {
    case PGRES_POLLING_READING:
        return CONNECTOR_READ;
    case PGRES_POLLING_WRITING:
        return CONNECTOR_WRITE;
    case PGRES_POLLING_OK:
        return CONNECTOR_DONE;
    default:
        note(connector, PQerrorMessage(connector->connection));
        return begin_next(connector);
    }
}

PGconn *connector_take(struct connector *connector)
{
    PGconn *connection = connector->connection;
    connector->connection = NULL;
    return connection;
}

void connector_stop(struct connector *connector)
{
    PQfinish(connector->connection);
    connector->connection = NULL;
}
