/*
 * pg_blocking.c: what handlers do with a connection of pg_connection, right and wrong: /pg/NAME does what is called so
 * below. The value of a query that has one is what stands behind the `=` of the query string, %XX decoded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <millrace_pg.h>

enum { BYTEA = 17 }; /* its OID */

static const Oid bytes_types[] = {BYTEA};

enum { DIVISIONS, SLEEP, TEXT, BYTES, NUMBER, TOKEN, MISSING, STATE, SHAPE, MANY };
static const struct pg_statement statements[] = {
    [DIVISIONS] = {.sql = "SELECT name FROM division ORDER BY id", .read_only = true},
    [SLEEP] = {.sql = "SELECT pg_sleep($1::float)", .parameters = 1, .read_only = true},
    [TEXT] = {.sql = "SELECT $1::text", .parameters = 1, .read_only = true},
    [BYTES] = {.sql = "SELECT $1", .types = bytes_types, .parameters = 1, .read_only = true, .binary = true},
    [NUMBER] = {.sql = "SELECT $1::int", .parameters = 1, .read_only = true},
    [TOKEN] = {.sql = "INSERT INTO token (name) VALUES ($1)", .parameters = 1},
    [MISSING] = {.sql = "SELECT count(*) FROM later", .read_only = true},
    [STATE] =
        {.sql =
             "SELECT pg_backend_pid() || ' ' || current_setting('work_mem') || ' ' || (SELECT count(*) FROM"
             " pg_listening_channels()) || ' ' || coalesce(to_regclass('pg_temp.leftover')::text, '-') || ' ' || "
             "(SELECT"
             " count(*) FROM pg_cursors) || ' ' || (SELECT count(*) FROM pg_prepared_statements WHERE name = 'mine')"},
    [SHAPE] = {.sql = "SELECT * FROM shape", .read_only = true},
    [MANY] = {.sql = "SELECT $1::int + $2::int + $3::int + $4::int + $5::int + $6::int + $7::int + $8::int + $9::int + "
                     "$10::int +"
                     " $11::int + $12::int + $13::int + $14::int + $15::int + $16::int + $17::int + $18::int",
              .parameters = 18},
};

static int hex(int digit)
{
    const char *digits = "0123456789abcdef", *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? 0 : (int)(at - digits);
}

/* The request's value, NULL where there is no `=`. Freed by the caller. */
static char *value_of(const FCGX_Request *req, size_t *length)
{
    const char *equals = strchr(FCGX_GetParam("QUERY_STRING", req->envp), '=');
    char *value = equals == NULL ? NULL : calloc(1, strlen(equals));
    *length = 0;
    if (value == NULL)
        return NULL;
    for (const char *at = equals + 1; *at != '\0'; at++) {
        bool escaped = *at == '%' && at[1] != '\0' && at[2] != '\0';
        value[(*length)++] = (char)(escaped ? hex(at[1]) * 16 + hex(at[2]) : *at);
        at += escaped ? 2 : 0;
    }
    return value;
}

static int put(FCGX_Request *req, const char *bytes, size_t length)
{
    FCGX_PutS("Content-Type: application/octet-stream\r\n\r\n", req->out);
    FCGX_PutStr(bytes, (int)length, req->out);
    return 0;
}

static int put_text(FCGX_Request *req, const char *text)
{
    return put(req, text, strlen(text));
}

/* The first value of a result, "null" for a NULL; "done" where there is no row. */
static int put_result(FCGX_Request *req, PGresult *result)
{
    struct pg_result outcome = pg_result_of(result);
    if (outcome.outcome != PG_DONE)
        pg_unavailable(req, &outcome);
    else if (PQntuples(result) == 0)
        put_text(req, "done");
    else if (PQgetisnull(result, 0, 0))
        put_text(req, "null");
    else
        put(req, PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
    PQclear(result);
    return 0;
}

static int answer(FCGX_Request *req, PGconn *pg, int number, struct pg_value value)
{
    return put_result(req, pg_execute(req, pg, &statements[number], statements[number].parameters, &value));
}

static void run(PGconn *pg, const char *sql)
{
    PQclear(PQexec(pg, sql));
}

/* -- What a path does ------------------------------------------------------------------------------------------------
 */

static int text_of(FCGX_Request *req, PGconn *pg, int number)
{
    size_t length;
    char *value = value_of(req, &length);
    int status = answer(req, pg, number, number == BYTES ? pg_binary(value, (int)length) : pg_text(value));
    free(value);
    return status;
}

static int divisions(FCGX_Request *req, PGconn *pg)
{
    PGresult *rows = pg_execute(req, pg, &statements[DIVISIONS], 0, NULL);
    struct pg_result result = pg_result_of(rows);
    if (result.outcome == PG_DONE)
        mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%d names", PQntuples(rows));
    else
        pg_unavailable(req, &result);
    PQclear(rows);
    return 0;
}

static int many(FCGX_Request *req, PGconn *pg)
{
    struct pg_value values[18];
    for (int i = 0; i < 18; i++)
        values[i] = pg_text("2");
    return put_result(req, pg_execute(req, pg, &statements[MANY], 18, values));
}

/* Some time between borrowing and giving back. */
static int hold(FCGX_Request *req, PGconn *pg)
{
    size_t length;
    char *value = value_of(req, &length);
    (void)pg;
    usleep((useconds_t)(value == NULL ? 0 : atoi(value)) * 1000);
    free(value);
    return put_text(req, "held");
}

static int same(FCGX_Request *req, PGconn *pg)
{
    return put_text(req, pg_connection(req) == pg ? "same" : "another");
}

static int transaction(FCGX_Request *req, PGconn *pg, const char *end)
{
    size_t length;
    char *value = value_of(req, &length);
    run(pg, "BEGIN");
    PQclear(pg_execute(req, pg, &statements[TOKEN], 1, (struct pg_value[]){pg_text(value)}));
    free(value);
    if (end == NULL)
        abort();
    run(pg, end);
    return put_text(req, end);
}

static int change_session(FCGX_Request *req, PGconn *pg)
{
    run(pg, "SET work_mem = '77MB'");
    run(pg, "LISTEN something");
    run(pg, "CREATE TEMPORARY TABLE leftover (id int)");
    run(pg, "DECLARE held CURSOR WITH HOLD FOR SELECT 1");
    run(pg, "SELECT pg_advisory_lock(7)");
    PQclear(PQprepare(pg, "mine", "SELECT 1", 0, NULL));
    return answer(req, pg, STATE, pg_text(NULL));
}

static int set_in_pipeline(FCGX_Request *req, PGconn *pg)
{
    PQenterPipelineMode(pg);
    if (!PQsendQueryParams(pg, "SET work_mem = '78MB'", 0, NULL, NULL, NULL, NULL, 0) || !PQpipelineSync(pg))
        return put_text(req, "not sent");
    return put_text(req, "left in pipeline mode");
}

/* A command whose results nobody takes. */
static int unfinished(FCGX_Request *req, PGconn *pg, const char *sql)
{
    return put_text(req, PQsendQuery(pg, sql) ? "left running" : "not sent");
}

static int copy(FCGX_Request *req, PGconn *pg)
{
    run(pg, "COPY token FROM STDIN");
    PQputCopyData(pg, "half a li", 9);
    return put_text(req, "left in COPY");
}

static int finish(FCGX_Request *req, PGconn *pg)
{
    PQfinish(pg);
    return put_text(req, "finished");
}

static int reset(FCGX_Request *req, PGconn *pg)
{
    PQreset(pg);
    return divisions(req, pg);
}

static int misuse(FCGX_Request *req, PGconn *pg)
{
    static const struct pg_statement foreign = {.sql = "SELECT 1"};
    PGresult *of_foreign = pg_execute(req, pg, &foreign, 0, NULL);
    PGresult *of_count = pg_execute(req, pg, &statements[TEXT], 0, NULL);
    PGresult *of_none = pg_execute(req, NULL, &statements[TEXT], 0, NULL);
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%d %d %d", pg_result_of(of_foreign).outcome,
              pg_result_of(of_count).outcome, pg_result_of(of_none).outcome);
    PQclear(of_foreign);
    PQclear(of_count);
    PQclear(of_none);
    return 0;
}

static int secure(FCGX_Request *req, PGconn *pg)
{
    return put_text(req, PQsslInUse(pg) ? PQsslAttribute(pg, "protocol") : "in the clear");
}

static int port(FCGX_Request *req, PGconn *pg)
{
    return put_text(req, PQport(pg));
}

static int choose(FCGX_Request *req, PGconn *pg, const char *name)
{
    static const struct {
        const char *name;
        int (*function)(FCGX_Request *req, PGconn *pg);
    } functions[] = {{"divisions", divisions}, {"many", many},     {"hold", hold},
                     {"same", same},           {"copy", copy},     {"change", change_session},
                     {"finish", finish},       {"reset", reset},   {"pipeline", set_in_pipeline},
                     {"secure", secure},       {"misuse", misuse}, {"port", port}};
    static const struct {
        const char *name;
        int statement;
    } queries[] = {{"sleep", SLEEP}, {"text", TEXT},       {"bytes", BYTES}, {"number", NUMBER},
                   {"token", TOKEN}, {"missing", MISSING}, {"shape", SHAPE}};
    static const struct {
        const char *name, *end;
    } transactions[] = {{"commit", "COMMIT"}, {"open", ""}, {"failed", "SELECT 1 / 0"}, {"crash", NULL}};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function(req, pg);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (strcmp(queries[i].name, name) == 0)
            return text_of(req, pg, queries[i].statement);
    for (size_t i = 0; i < sizeof transactions / sizeof *transactions; i++)
        if (strcmp(transactions[i].name, name) == 0)
            return transaction(req, pg, transactions[i].end);
    if (strcmp(name, "state") == 0)
        return put_result(req, pg_execute(req, pg, &statements[STATE], 0, NULL));
    if (strcmp(name, "unfinished") == 0)
        return unfinished(req, pg, "SELECT pg_sleep(30)");
    return put_text(req, "?");
}

static int pg_blocking(FCGX_Request *req)
{
    const char *path = FCGX_GetParam("PATH_INFO", req->envp);
    PGconn *pg = pg_connection(req);
    if (pg == NULL)
        return pg_unavailable(req, NULL);
    return choose(req, pg, path[0] == '/' ? path + 1 : path);
}

static int start(struct mr_route *route)
{
    return pg_start(route, statements, sizeof statements / sizeof *statements);
}

const struct mr_app mr_app = {
    .abi = MR_ABI,
    .name = "pg_blocking",
    .handle = pg_blocking,
    .start = start,
    .stop = pg_stop,
};
