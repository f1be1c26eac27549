/* session.c: see session.h. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_INLINE = 16, NAME_BYTES = 24 };

/* libpq wants an array of each. */
struct arrays {
    const char **values;
    int *lengths, *formats;
    const char *few_values[VALUES_INLINE];
    int few_lengths[VALUES_INLINE], few_formats[VALUES_INLINE];
};

static int arrays_init(struct arrays *arrays, int count, const struct pg_value *values)
{
    bool few = count <= VALUES_INLINE;
    size_t each = sizeof *arrays->values + sizeof *arrays->lengths + sizeof *arrays->formats;
    char *memory = few ? NULL : malloc((size_t)count * each);
    if (!few && memory == NULL)
        return -1;
    arrays->values = few ? arrays->few_values : (const char **)memory;
    arrays->lengths = few ? arrays->few_lengths : (int *)(arrays->values + count);
    arrays->formats = few ? arrays->few_formats : arrays->lengths + count;
    for (int i = 0; i < count; i++) {
        arrays->values[i] = values[i].bytes;
        arrays->lengths[i] = values[i].length;
        arrays->formats[i] = values[i].binary;
    }
    return 0;
}

static void arrays_fini(struct arrays *arrays)
{
    if (arrays->values != arrays->few_values)
        free(arrays->values);
}

struct session *session_new(struct service *service, PGconn *connection)
{
    struct session *session = calloc(1, sizeof *session + (size_t)service->statement_count * sizeof *session->prepared);
    if (session == NULL) {
        PQfinish(connection);
        return NULL;
    }
    session->service = service;
    session->connection = connection;
    figures_add(&service->figures, FIGURE_CONNECTIONS, 1);
    figures_add(&service->figures, FIGURE_CONNECTS, 1);
    return session;
}

void session_lose(struct session *session)
{
    if (session->connection != NULL)
        figures_add(&session->service->figures, FIGURE_CONNECTIONS, -1);
    session->connection = NULL;
}

void session_close(struct session *session)
{
    PGconn *connection = session->connection;
    session_lose(session);
    PQfinish(connection);
}

void session_free(struct session *session)
{
    if (session == NULL)
        return;
    session_close(session);
    free(session);
}

void session_forget(struct session *session)
{
    memset(session->prepared, 0, (size_t)session->service->statement_count * sizeof *session->prepared);
}

bool session_needs_prepare(const struct session *session, int number)
{
    return session->service->options.prepare && !session->prepared[number];
}

static const char *name_of(int number, char name[NAME_BYTES])
{
    static const char prefix[] = "millrace_";
    char *at = name + NAME_BYTES - 1;
    *at = '\0';
    do { /* by hand: it is done for each query */
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    at -= sizeof prefix - 1;
    return memcpy(at, prefix, sizeof prefix - 1);
}

int session_send_prepare(struct session *session, int number)
{
    const struct pg_statement *statement = &session->service->statements[number];
    char name[NAME_BYTES];
    int count = statement->types == NULL ? 0 : statement->parameters;
    return PQsendPrepare(session->connection, name_of(number, name), statement->sql, count, statement->types) ? 0 : -1;
}

int session_send_deallocate(struct session *session, int number)
{
    char sql[NAME_BYTES + 16], name[NAME_BYTES];
    snprintf(sql, sizeof sql, "DEALLOCATE %s", name_of(number, name));
    session->prepared[number] = false;
    return PQsendQueryParams(session->connection, sql, 0, NULL, NULL, NULL, NULL, 0) ? 0 : -1;
}

int session_send(struct session *session, int number, const struct pg_value *values)
{
    const struct pg_statement *statement = &session->service->statements[number];
    struct arrays arrays;
    if (arrays_init(&arrays, statement->parameters, values) < 0)
        return -1;
    char name[NAME_BYTES];
    int sent;
    if (session->service->options.prepare)
        sent = PQsendQueryPrepared(session->connection, name_of(number, name), statement->parameters, arrays.values,
                                   arrays.lengths, arrays.formats, statement->binary);
    else
        sent = PQsendQueryParams(session->connection, statement->sql, statement->parameters, statement->types,
                                 arrays.values, arrays.lengths, arrays.formats, statement->binary);
    arrays_fini(&arrays);
    if (!sent)
        return -1;
    figures_add(&session->service->figures, FIGURE_QUERIES, 1);
    return 0;
}

/* Where the server itself ends a session, and where what it remembers of one has gone. */
enum session_fault session_fault_of(const char *severity, const char *sqlstate, const char *function)
{
    if (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        return SESSION_LOST;
    if (sqlstate == NULL)
        return SESSION_FINE;
    if (strncmp(sqlstate, "08", 2) == 0 || strncmp(sqlstate, "57P0", 4) == 0)
        return SESSION_LOST;
    if (strcmp(sqlstate, "26000") == 0) /* no such prepared statement */
        return SESSION_STALE;
    /* "cached plan must not change result type", among others that only mean what they say */
    if (strcmp(sqlstate, "0A000") == 0 && function != NULL && strcmp(function, "RevalidateCachedQuery") == 0)
        return SESSION_STALE;
    return SESSION_FINE;
}

enum session_fault session_fault(PGconn *connection, const PGresult *result)
{
    if (PQstatus(connection) != CONNECTION_OK)
        return SESSION_LOST;
    return session_fault_of(PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED),
                            PQresultErrorField(result, PG_DIAG_SQLSTATE),
                            PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION));
}

const char session_limits_query[] = "SELECT pg_catalog.current_setting('max_connections')::int"
                                    " - pg_catalog.current_setting('superuser_reserved_connections')::int";

bool session_wants_limits(struct service *service)
{
    return service->options.prepare && !atomic_exchange_explicit(&service->limits_asked, true, memory_order_relaxed);
}

void session_check_limits(struct service *service, const PGresult *result)
{
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        return;
    int given = atoi(PQgetvalue(result, 0, 0));
    int wanted = service->options.pool + service->options.connections;
    if (wanted <= given)
        return;
    char what[120];
    snprintf(what, sizeof what, "the server gives %d connections, one worker may want %d", given, wanted);
    report_write(&service->report, REPORT_LIMITS, what,
                 "keep workers x (pool + lanes x connections) below max_connections - superuser_reserved_connections");
}
