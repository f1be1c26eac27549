/* test_pg_traces.c: which commands may leave something in a session, by db/traces.h. */
#include "suite.h"
#include "traces.h"

static const struct {
    ExecStatusType status;
    const char *tag;
    bool stays;
} table[] = {
    {PGRES_TUPLES_OK, "SELECT 1", false},
    {PGRES_TUPLES_OK, "INSERT 0 1", false}, /* RETURNING */
    {PGRES_TUPLES_OK, "FETCH 3", false},
    {PGRES_TUPLES_OK, "SHOW", false},
    {PGRES_TUPLES_OK, "EXPLAIN", false},
    {PGRES_COMMAND_OK, "INSERT 0 1", false},
    {PGRES_COMMAND_OK, "UPDATE 0", false},
    {PGRES_COMMAND_OK, "DELETE 12", false},
    {PGRES_COMMAND_OK, "MERGE 2", false},
    {PGRES_COMMAND_OK, "BEGIN", false},
    {PGRES_COMMAND_OK, "START TRANSACTION", false},
    {PGRES_COMMAND_OK, "COMMIT", false},
    {PGRES_COMMAND_OK, "ROLLBACK", false},
    {PGRES_COMMAND_OK, "SAVEPOINT", false},
    {PGRES_COMMAND_OK, "RELEASE", false},
    {PGRES_COMMAND_OK, "LOCK TABLE", false},
    {PGRES_COMMAND_OK, "COPY 5", false},
    {PGRES_COMMAND_OK, "SET CONSTRAINTS", false},
    {PGRES_COMMAND_OK, "NOTIFY", false},

    {PGRES_COMMAND_OK, "SELECT 4", true}, /* INTO, CREATE TABLE AS */
    {PGRES_COMMAND_OK, "SET", true},
    {PGRES_COMMAND_OK, "RESET", true},
    {PGRES_COMMAND_OK, "LISTEN", true},
    {PGRES_COMMAND_OK, "PREPARE", true},
    {PGRES_COMMAND_OK, "DEALLOCATE", true},
    {PGRES_COMMAND_OK, "DECLARE CURSOR", true},
    {PGRES_COMMAND_OK, "CREATE TABLE", true},
    {PGRES_COMMAND_OK, "DO", true},
    {PGRES_COMMAND_OK, "CALL", true},
    {PGRES_TUPLES_OK, "CALL", true},
    {PGRES_COMMAND_OK, "LOAD", true},
    {PGRES_COMMAND_OK, "DISCARD ALL", true},
    {PGRES_COMMAND_OK, "", true}, /* PQprepare */
    {PGRES_COMMAND_OK, "SELECTED", true},
    {PGRES_COMMAND_OK, "LOCK", true},

    /* what has not been done, or not yet */
    {PGRES_FATAL_ERROR, "", false},
    {PGRES_EMPTY_QUERY, "", false},
    {PGRES_COPY_IN, "", false},
    {PGRES_SINGLE_TUPLE, "", false},
    {PGRES_PIPELINE_SYNC, "", false},
};

static void commands(void)
{
    for (size_t i = 0; i < SUITE_COUNT(table); i++)
        SUITE_CHECK(traces_may_stay(table[i].status, table[i].tag) == table[i].stays, "%s '%s'",
                    PQresStatus(table[i].status), table[i].tag);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"which commands may leave something", commands},
    };
    return suite_main("pg_traces", cases, SUITE_COUNT(cases), argc, argv);
}
