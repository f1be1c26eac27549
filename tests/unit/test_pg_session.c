/* test_pg_session.c: what an error says about the session that it came in, by db/session.h. */
#include "session.h"
#include "suite.h"

static const struct {
    const char *severity, *sqlstate, *function;
    enum session_fault expected;
} table[] = {
    {NULL, NULL, NULL, SESSION_FINE},
    {"ERROR", "23505", "_bt_check_unique", SESSION_FINE},
    {"ERROR", "22P02", "pg_strtoint32", SESSION_FINE},
    {"ERROR", "42P01", "parserOpenTable", SESSION_FINE},
    {"ERROR", "57014", "ProcessInterrupts", SESSION_FINE}, /* cancelled */
    {"ERROR", "40001", NULL, SESSION_FINE},
    {"NOTICE", "00000", NULL, SESSION_FINE},

    {"FATAL", "57P01", "ProcessInterrupts", SESSION_LOST},
    {"FATAL", "57P02", NULL, SESSION_LOST},
    {"FATAL", "57P03", "ProcessStartupPacket", SESSION_LOST},
    {"FATAL", "53300", NULL, SESSION_LOST},
    {"PANIC", "XX000", NULL, SESSION_LOST},
    {"ERROR", "08P01", NULL, SESSION_LOST},
    {"ERROR", "08006", NULL, SESSION_LOST},
    {"ERROR", "57P01", NULL, SESSION_LOST},

    {"ERROR", "26000", "FetchPreparedStatement", SESSION_STALE},
    {"ERROR", "0A000", "RevalidateCachedQuery", SESSION_STALE},
    {"ERROR", "0A000", "transformSelectStmt", SESSION_FINE},
    {"ERROR", "0A000", NULL, SESSION_FINE},
};

static void faults(void)
{
    for (size_t i = 0; i < SUITE_COUNT(table); i++)
        SUITE_CHECK(session_fault_of(table[i].severity, table[i].sqlstate, table[i].function) == table[i].expected,
                    "case %zu: %s", i, table[i].sqlstate);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"what an error says about the session", faults},
    };
    return suite_main("pg_session", cases, SUITE_COUNT(cases), argc, argv);
}
