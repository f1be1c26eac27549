/*
 * test_database_failures.c: PostgreSQL fails in every way that can be arranged, under 200 requests/s on a page that
 * needs it and as many on one that does not: each is answered in time, right or 503; the other page keeps its speed;
 * all is well soon after the server's return, with the same workers; the log stays short. Cases C61, C62, C64, C65,
 * C67. With MILLRACE_TEST_LONG: each failure for longer, by strict limits.
 */
#include <signal.h>
#include <stdlib.h>

#include "database/detour.h"
#include "database/postgres.h"
#include "database/trial.h"
#include "suite.h"

static int usual_ms(void)
{
    return trial_is_long() ? 5000 : 1200;
}

static void restarted(const char *mode)
{
    trial_begin("/database");
    for (int i = 0; i < (trial_is_long() ? 5 : 1); i++) {
        postgres_restart(mode);
        trial_broken(trial_is_long() ? 1000 : 0);
    }
    trial_mended();
    trial_end(&(struct trial_limits){.away = 1, .sessions = true});
}

static void restarted_fast(void)
{
    restarted("fast");
}

static void restarted_immediately(void)
{
    restarted("immediate");
}

static void stopped_and_started(void)
{
    trial_begin("/database");
    postgres_stop("fast");
    trial_broken(usual_ms());
    postgres_run();
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2});
}

/* A read is repeated on a new connection: most requests need not notice. */
static void backends_terminated(void)
{
    trial_begin("/database");
    for (int i = 0; i < (trial_is_long() ? 20 : 4); i++) {
        postgres_terminate_backends();
        trial_broken(200);
    }
    trial_mended();
    trial_end(&(struct trial_limits){.right = TRIAL_RATE / 4, .sessions = true});
}

/* Connections that were given up meanwhile end when the server goes on, new ones begin. */
static void stopped_by_a_signal(void)
{
    trial_begin("/database");
    postgres_signal_all(SIGSTOP);
    trial_broken(trial_is_long() ? 5000 : 3000);
    postgres_signal_all(SIGCONT);
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE, .sessions = true});
}

static void on_the_detour(enum detour_mode mode, const struct trial_limits *limits)
{
    trial_begin("/detour");
    detour_set(mode);
    trial_broken(usual_ms() + (mode == DETOUR_SWALLOW ? TRIAL_QUERY_TIMEOUT_MS : 0)); /* until answers are late */
    detour_set(DETOUR_PASS);
    trial_mended();
    trial_end(limits);
}

static void a_port_that_says_nothing(void)
{
    on_the_detour(DETOUR_SWALLOW, &(struct trial_limits){.away = TRIAL_RATE / 2});
}

static void a_port_where_nobody_listens(void)
{
    on_the_detour(DETOUR_REFUSE, &(struct trial_limits){.away = TRIAL_RATE / 2});
}

static void a_port_that_resets(void)
{
    on_the_detour(DETOUR_RESET, &(struct trial_limits){.away = TRIAL_RATE / 2});
}

static void connections_cut_amid_answers(void)
{
    on_the_detour(DETOUR_CUT, &(struct trial_limits){.right = 5});
}

static void a_port_of_something_else(void)
{
    on_the_detour(DETOUR_BABBLE, &(struct trial_limits){.away = TRIAL_RATE / 2});
}

/* Others hold all places at first, then all but few. */
static void too_few_connections(void)
{
    trial_begin("/detour");
    detour_set(DETOUR_REFUSE);
    postgres_hold_connections(0);
    detour_set(DETOUR_PASS);
    trial_broken(usual_ms());
    postgres_release_connections(2);
    trial_broken(usual_ms());
    postgres_release_connections(-1);
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2, .right = 1});
}

static void a_wrong_password(void)
{
    trial_begin("/locked");
    postgres_do("ALTER ROLE locked PASSWORD 'another'");
    postgres_terminate_backends();
    trial_broken(usual_ms());
    postgres_do("ALTER ROLE locked PASSWORD 'right'");
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2});
}

static void a_missing_table(void)
{
    trial_begin("/database");
    postgres_do("ALTER TABLE division RENAME TO elsewhere");
    trial_broken(usual_ms());
    postgres_do("ALTER TABLE elsewhere RENAME TO division");
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2});
}

/* Every query waits, on every connection. */
static void a_locked_table(void)
{
    PGconn *other;

    trial_begin("/database");
    other = postgres_connect();
    SUITE_CHECK(other, "no connection");
    PQclear(PQexec(other, "BEGIN; LOCK TABLE division IN ACCESS EXCLUSIVE MODE"));
    trial_broken(usual_ms() + 800);
    PQfinish(other);
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2, .sessions = true});
}

/* -- The blocking style: a handler holds a thread while it waits
 * -------------------------------------------------------- */

/* First for a connection, then for its statement. */
static void blocking_on_the_detour(enum detour_mode mode)
{
    trial_begin("/guestbook");
    detour_set(mode);
    trial_broken(usual_ms() + (mode == DETOUR_SWALLOW ? TRIAL_QUERY_TIMEOUT_MS : 0));
    detour_set(DETOUR_PASS);
    trial_mended();
    trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2, .timeouts = 2, .sessions = true});
}

static void blocking_without_a_server(void)
{
    blocking_on_the_detour(DETOUR_REFUSE);
}

static void blocking_on_silence(void)
{
    blocking_on_the_detour(DETOUR_SWALLOW);
}

static void blocking_over_a_restart(void)
{
    trial_begin("/guestbook");
    postgres_restart("fast");
    trial_broken(0);
    trial_mended();
    trial_end(&(struct trial_limits){.away = 1, .sessions = true});
}

/* -- Writing
 * ----------------------------------------------------------------------------------------------------------- */

#define INSERTS "/pg_queries?kind=plain&token=row"

/* Two rows fill a page of the table. */
static void make_entries(void)
{
    postgres_do("DROP TABLE IF EXISTS entry");
    postgres_do("CREATE TABLE entry (token text, slot int UNIQUE, pad text DEFAULT repeat('x', 3000))");
    postgres_do("ALTER TABLE entry ALTER pad SET STORAGE PLAIN");
    postgres_do("ALTER TABLE entry OWNER TO millrace");
}

static long count_entries(void)
{
    return strtol(postgres_ask("SELECT count(*) FROM entry WHERE token LIKE 'row%'"), NULL, 10);
}

static void check_no_row_twice(void)
{
    const char *twice =
        postgres_ask("SELECT token FROM entry WHERE token LIKE 'row%' GROUP BY token HAVING count(*) > 1");

    SUITE_CHECK(*twice == '\0', "the request of '%s' has written twice", twice);
}

/* What is answered 200 is there, once; what is answered 503 may be. trial_begin has written one row. */
static void check_entries(struct trial_counts counts)
{
    long rows = count_entries(), right = counts.right + 1;

    SUITE_CHECK(rows >= right && rows <= right + counts.away, "%ld rows after %ld answers 200 and %ld answers 503",
                rows, right, counts.away);
    check_no_row_twice();
}

static void writing_over_restarts(void)
{
    postgres_start();
    make_entries();
    trial_begin(INSERTS);
    postgres_restart("fast");
    trial_broken(300);
    postgres_restart("immediate");
    trial_broken(300);
    for (int i = 0; i < 3; i++) {
        postgres_terminate_backends();
        trial_broken(50);
    }
    trial_mended();
    check_entries(trial_end(&(struct trial_limits){.away = 1, .sessions = true}));
}

/* Rows that are written, and whose answers are lost: who writes them again has two. */
static void writing_while_answers_are_cut(void)
{
    postgres_start();
    make_entries();
    trial_begin(INSERTS);
    detour_set(DETOUR_CUT);
    trial_broken(usual_ms());
    detour_set(DETOUR_PASS);
    trial_mended();
    check_entries(trial_end(&(struct trial_limits){.away = 1, .right = TRIAL_RATE / 4}));
}

/* Files cannot become longer than they are; those of the write-ahead log have 16 MiB, so the table must have as much.
 */
static void a_full_disk(void)
{
    postgres_start();
    make_entries();
    postgres_do("INSERT INTO entry (token) SELECT 'filler' FROM generate_series(1, 4200)");
    trial_begin(INSERTS);
    postgres_limit_files(strtol(postgres_ask("SELECT pg_relation_size('entry')"), NULL, 10));
    trial_broken(usual_ms());
    postgres_limit_files(0);
    trial_mended();
    check_entries(trial_end(&(struct trial_limits){.away = TRIAL_RATE / 2}));
    postgres_do("DROP TABLE entry");
}

static const struct suite_case cases[] = {
    {"restarted with -m fast", restarted_fast},
    {"restarted with -m immediate", restarted_immediately},
    {"stopped and started", stopped_and_started},
    {"all backends terminated", backends_terminated},
    {"the server stopped by SIGSTOP", stopped_by_a_signal},
    {"a port that accepts and says nothing", a_port_that_says_nothing},
    {"a port where nobody listens", a_port_where_nobody_listens},
    {"a port that resets", a_port_that_resets},
    {"connections cut amid answers", connections_cut_amid_answers},
    {"a port where something else listens", a_port_of_something_else},
    {"too few connections", too_few_connections},
    {"a wrong password", a_wrong_password},
    {"a missing table", a_missing_table},
    {"a locked table", a_locked_table},
    {"the blocking style: restarted", blocking_over_a_restart},
    {"the blocking style: nobody listens", blocking_without_a_server},
    {"the blocking style: a port that says nothing", blocking_on_silence},
    {"writing over restarts", writing_over_restarts},
    {"writing while answers are cut", writing_while_answers_are_cut},
    {"a full disk", a_full_disk},
};

int main(int argc, char **argv)
{
    return suite_main("database_failures", cases, SUITE_COUNT(cases), argc, argv);
}
