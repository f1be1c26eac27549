/* postgres.c: db/cluster and pg_ctl as commands, the superuser's statements over libpq, processes through /proc. */
#include "postgres.h"

#include <dirent.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/deadline.h"
#include "flow/server.h"
#include "suite.h"

enum { POSTGRES_PATH_MAX = 160, POSTGRES_PROCESSES_MAX = 200, POSTGRES_SAMPLE_MS = 20 };

static struct {
    bool made;
    pid_t owner; /* the process that has started it */
    char state[POSTGRES_PATH_MAX];
    char data[POSTGRES_PATH_MAX + 10], folder[POSTGRES_PATH_MAX + 10], socket[POSTGRES_PATH_MAX + 30];
    char tools[256];  /* the folder of pg_ctl */
    const char *self; /* what a command starts with to run as the server's owner */
    PGconn *held[POSTGRES_MAX_CONNECTIONS];
    int held_count;
} postgres;

/* -- Commands
 * ---------------------------------------------------------------------------------------------------------- */

/* Without our standard output: a server that keeps a pipe open would let its reader wait for ever. */
static int postgres_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int postgres_command(const char *format, ...)
{
    char command[1600];
    int length = snprintf(command, sizeof command, "exec >>'%s/commands' 2>&1 </dev/null; ", postgres.state);
    va_list list;

    va_start(list, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, list);
    va_end(list);
    return system(command);
}

static void postgres_find_tools(void)
{
    glob_t found;

    SUITE_CHECK(glob("/usr/lib/postgresql/*/bin/pg_ctl", 0, NULL, &found) == 0, "PostgreSQL is not installed");
    snprintf(postgres.tools, sizeof postgres.tools, "%s", found.gl_pathv[found.gl_pathc - 1]);
    *strrchr(postgres.tools, '/') = '\0';
    globfree(&found);
    postgres.self = getuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --init-groups --" : "env";
}

static int postgres_control(const char *what, const char *mode)
{
    return postgres_command("cd / && exec setsid --wait %s %s/pg_ctl %s -D %s -m %s -w -t 60 -s -l %s/postgresql.log",
                            postgres.self, postgres.tools, what, postgres.data, mode, postgres.state);
}

static void postgres_cluster(const char *what)
{
    SUITE_CHECK(postgres_command("MILLRACE_STATE=%s db/cluster %s", postgres.state, what) == 0,
                "db/cluster %s failed (see %s/commands)", what, postgres.state);
}

static void postgres_at_exit(void)
{
    char remove[POSTGRES_PATH_MAX + 20];

    if (getpid() != postgres.owner)
        return;
    postgres_signal_all(SIGCONT);
    postgres_control("stop", "immediate");
    snprintf(remove, sizeof remove, "rm -rf '%s'", postgres.state);
    if (system(remove) != 0)
        fprintf(stderr, "%s failed\n", remove);
    *strrchr(postgres.state, '/') = '\0';
    rmdir(postgres.state); /* an own one; with tests/run it is not ours to judge */
}

/* -- Start
 * ------------------------------------------------------------------------------------------------------------- */

static void postgres_name_places(void)
{
    snprintf(postgres.state, sizeof postgres.state, "%s", server_scratch("db"));
    snprintf(postgres.data, sizeof postgres.data, "%s/pg-data", postgres.state);
    snprintf(postgres.folder, sizeof postgres.folder, "%s/pg", postgres.state);
    snprintf(postgres.socket, sizeof postgres.socket, "%s/.s.PGSQL.5432", postgres.folder);
}

/* Few connections, so that they can be used up; a role with a password. */
static void postgres_configure(void)
{
    char rules[POSTGRES_PATH_MAX + 40];

    snprintf(rules, sizeof rules, "%s/pg_hba.conf", postgres.data);
    SUITE_CHECK(postgres_command("printf 'max_connections = %d\\n' >>%s/postgresql.conf && "
                                 "sed -i '1i local all locked scram-sha-256' %s",
                                 POSTGRES_MAX_CONNECTIONS, postgres.data, rules) == 0,
                "cannot write the configuration");
    postgres_restart("fast");
    postgres_do("CREATE ROLE locked LOGIN PASSWORD 'right'");
    postgres_do("GRANT SELECT ON division TO locked");
}

void postgres_run(void)
{
    SUITE_CHECK(postgres_control("start", "fast") == 0, "PostgreSQL does not start (see %s/postgresql.log)",
                postgres.state);
}

static void postgres_make(void)
{
    char make[POSTGRES_PATH_MAX + 40];

    postgres_name_places();
    snprintf(make, sizeof make, "mkdir -p %s", postgres.state);
    SUITE_CHECK(system(make) == 0, "cannot make %s", postgres.state);
    postgres_find_tools();
    postgres.owner = getpid();
    atexit(postgres_at_exit);
    postgres_cluster("up");
    postgres_configure();
    postgres.made = true;
}

void postgres_start(void)
{
    int most;

    if (!postgres.made) {
        postgres_make();
        return;
    }
    postgres_signal_all(SIGCONT);
    postgres_watch_end(&most);
    postgres_release_connections(-1);
    if (postgres_control("status", "fast") != 0)
        postgres_run();
    postgres_limit_files(0);
    postgres_do("ALTER ROLE locked PASSWORD 'right'");
    postgres_do("SET client_min_messages = error; ALTER TABLE IF EXISTS elsewhere RENAME TO division");
}

const char *postgres_folder(void)
{
    return postgres.folder;
}

const char *postgres_socket(void)
{
    return postgres.socket;
}

void postgres_restart(const char *mode)
{
    SUITE_CHECK(postgres_control("restart", mode) == 0, "pg_ctl restart failed (see %s/postgresql.log)",
                postgres.state);
}

void postgres_stop(const char *mode)
{
    SUITE_CHECK(postgres_control("stop", mode) == 0, "pg_ctl stop failed (see %s/postgresql.log)", postgres.state);
}

/* -- Statements
 * -------------------------------------------------------------------------------------------------------- */

/* The server lets its owner alone be the superuser: root asks as him over psql. */
const char *postgres_try(const char *sql)
{
    static char value[256];
    char command[1600];
    FILE *answer;
    bool read;

    snprintf(
        command, sizeof command,
        "cd / && exec %s %s/psql -h %s -U postgres -d millrace -X -q -At -v ON_ERROR_STOP=1 -c \"%s\" 2>>%s/commands",
        postgres.self, postgres.tools, postgres.folder, sql, postgres.state);
    answer = popen(command, "re");
    if (!answer)
        return NULL;
    value[0] = '\0';
    read = fgets(value, sizeof value, answer) != NULL;
    value[strcspn(value, "\n")] = '\0';
    return pclose(answer) == 0 ? (read ? value : "") : NULL;
}

const char *postgres_ask(const char *sql)
{
    const char *value = postgres_try(sql);

    SUITE_CHECK(value, "the statement failed (see %s/commands): %s", postgres.state, sql);
    return value;
}

void postgres_do(const char *sql)
{
    postgres_ask(sql);
}

PGconn *postgres_connect(void)
{
    const char *const names[] = {"host", "dbname", "user", "application_name", "connect_timeout", NULL};
    const char *const values[] = {postgres.folder, "millrace", "millrace", "held", "5", NULL};
    PGconn *connection = PQconnectdbParams(names, values, 0);

    if (PQstatus(connection) == CONNECTION_OK)
        return connection;
    PQfinish(connection);
    return NULL;
}

bool postgres_try_terminate(void)
{
    return postgres_try("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                        "usename IN ('millrace', 'locked') AND application_name <> 'held'") != NULL;
}

void postgres_terminate_backends(void)
{
    SUITE_CHECK(postgres_try_terminate(), "no backend could be ended (see %s/commands)", postgres.state);
}

/* -- What others take
 * --------------------------------------------------------------------------------------------------- */

void postgres_hold_connections(int leave)
{
    while (postgres.held_count < POSTGRES_MAX_CONNECTIONS) {
        PGconn *connection = postgres_connect();

        if (!connection)
            break;
        postgres.held[postgres.held_count++] = connection;
    }
    postgres_release_connections(leave);
}

void postgres_release_connections(int count)
{
    for (; count != 0 && postgres.held_count > 0; count--)
        PQfinish(postgres.held[--postgres.held_count]);
}

/* -- Processes
 * --------------------------------------------------------------------------------------------------------- */

static pid_t postgres_pid(void)
{
    char path[POSTGRES_PATH_MAX + 30];
    int pid = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/postmaster.pid", postgres.data);
    file = fopen(path, "re");
    if (file && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file)
        fclose(file);
    return pid;
}

static int postgres_children(pid_t *pids)
{
    char path[64];
    int count = 0, pid = (int)postgres_pid();
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    while (file && count < POSTGRES_PROCESSES_MAX && fscanf(file, "%d", &pid) == 1)
        pids[count++] = pid;
    if (file)
        fclose(file);
    return count;
}

/* The server first, so that it starts no other process meanwhile. */
void postgres_signal_all(int signal)
{
    pid_t pids[POSTGRES_PROCESSES_MAX], pid = postgres_pid();
    int count;

    if (pid <= 0)
        return;
    kill(pid, signal);
    count = postgres_children(pids);
    for (int i = 0; i < count; i++)
        kill(pids[i], signal);
}

/* As the server's owner: to change the limits of another user's processes takes a right that root in a container may
 * lack. */
static void postgres_limit_process(pid_t pid, long bytes)
{
    if (bytes > 0)
        postgres_command("%s prlimit --pid %d --fsize=%ld:", postgres.self, (int)pid, bytes);
    else
        postgres_command("%s prlimit --pid %d --fsize=unlimited:", postgres.self, (int)pid);
}

void postgres_limit_files(long bytes)
{
    pid_t pids[POSTGRES_PROCESSES_MAX];
    int count = postgres_children(pids);

    postgres_limit_process(postgres_pid(), bytes);
    for (int i = 0; i < count; i++)
        postgres_limit_process(pids[i], bytes);
}

static bool postgres_is_session(pid_t pid)
{
    char path[32], title[64] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    file = fopen(path, "re");
    if (file && !fgets(title, sizeof title, file))
        title[0] = '\0';
    if (file)
        fclose(file);
    return strncmp(title, "postgres: millrace ", 19) == 0 || strncmp(title, "postgres: locked ", 17) == 0;
}

int postgres_session_count(void)
{
    pid_t pids[POSTGRES_PROCESSES_MAX];
    int count = postgres_children(pids), sessions = 0;

    for (int i = 0; i < count; i++)
        sessions += postgres_is_session(pids[i]);
    return sessions - postgres.held_count;
}

/* -- Watching them
 * ----------------------------------------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    bool runs;
    atomic_bool stopping;
    int limit, most, longest_ms;
} postgres_watch;

static void *postgres_watch_run(void *argument)
{
    int64_t within_ms = deadline_now_ms();

    while (!atomic_load(&postgres_watch.stopping)) {
        int count = postgres_session_count(), over_ms;
        int64_t now_ms = deadline_now_ms();

        postgres_watch.most = count > postgres_watch.most ? count : postgres_watch.most;
        if (count <= postgres_watch.limit)
            within_ms = now_ms;
        over_ms = (int)(now_ms - within_ms);
        if (count > postgres_watch.limit && over_ms > postgres_watch.longest_ms)
            postgres_watch.longest_ms = over_ms;
        poll(NULL, 0, POSTGRES_SAMPLE_MS);
    }
    return argument;
}

void postgres_watch_sessions(int limit)
{
    int most;

    postgres_watch_end(&most);
    postgres_watch.limit = limit;
    postgres_watch.most = postgres_watch.longest_ms = 0;
    atomic_store(&postgres_watch.stopping, false);
    postgres_watch.runs = pthread_create(&postgres_watch.thread, NULL, postgres_watch_run, NULL) == 0;
    SUITE_CHECK(postgres_watch.runs, "no thread");
}

int postgres_watch_end(int *most)
{
    atomic_store(&postgres_watch.stopping, true);
    if (postgres_watch.runs)
        pthread_join(postgres_watch.thread, NULL);
    postgres_watch.runs = false;
    *most = postgres_watch.most;
    return postgres_watch.longest_ms;
}
