/* server.c: starts and ends the real server in a private directory. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.h"
#include "link.h"
#include "suite.h"

enum { SERVER_START_MS = 20000, SERVER_STOP_MS = 20000 };

static const char *server_program = "millrace";
static struct server server_one; /* one at a time: each case has its own, or shares it */
static bool server_is_shared;
static pid_t server_owner;

static const char *const server_routes[] = {
    "hello",    "echo",   "env",    "crash",     "nothing", "sleeper", "exit",    "bad_header", "status",  "bigout",
    "readpart", "errout", "forker", "unroutine", "params",  "talker",  "watcher", "pid",        "formats", "ticker",
    "fault", "deadline", "hog", "bighello", "page8k", "waiter", "ends", "asker",
};

static const char *server_build(void)
{
    static char path[512];
    const char *build = getenv("BUILD");

    if (!realpath(build ? build : "build", path))
        SUITE_FAIL("BUILD: %s", strerror(errno));
    return path;
}

/* tests/run names a directory for this program and removes it; without it there is an own one in /tmp. */
static const char *server_base(void)
{
    static char own[] = "/tmp/millrace-test.XXXXXX";
    static const char *base;

    if (!base)
        base = getenv("MILLRACE_TEST_DIR");
    if (!base && (base = mkdtemp(own)))
        chmod(own, 0755);
    SUITE_CHECK(base, "mkdtemp: %s", strerror(errno));
    return base;
}

int server_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    for (;;) {
        int port = 10000 + rand() % 20000, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_free;

        address.sin_port = htons((uint16_t)port);
        is_free = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        if (is_free)
            return port;
    }
}

const char *server_app(const char *name)
{
    static char path[640];

    snprintf(path, sizeof path, "%s/tests/apps/%s.so", server_build(), name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/apps/%s.so", server_build(), name);
    return path;
}

static void server_write_routes(FILE *conf)
{
    for (size_t i = 0; i < sizeof server_routes / sizeof server_routes[0]; i++)
        fprintf(conf, "app \"/%s\" { file = \"%s\" }\n", server_routes[i], server_app(server_routes[i]));
}

static bool server_sets(const char *options, const char *key)
{
    return options && strstr(options, key);
}

static void server_write_conf(struct server *server, const char *options)
{
    char path[SERVER_PATH_MAX + 20];
    FILE *conf;

    snprintf(path, sizeof path, "%s/millrace.conf", server->directory);
    conf = fopen(path, "we");
    SUITE_CHECK(conf, "%s: %s", path, strerror(errno));
    fprintf(conf, "fastcgi = { \"%s\", \"%s\" }\n", server->local, server->tcp);
    fprintf(conf, "pid_file = \"%s/pid\"\nlog = \"%s/log\"\n", server->directory, server->directory);
    if (!server_sets(options, "workers ="))
        fprintf(conf, "workers = %d\n", SERVER_WORKERS);
    if (!server_sets(options, "lanes ="))
        fprintf(conf, "lanes = %d\n", SERVER_LANES);
    if (!server_sets(options, "threads ="))
        fprintf(conf, "threads = %d\n", SERVER_THREADS);
    if (!server_sets(options, "queue_ms =")) /* a machine busy with other things must not make a 503 */
        fprintf(conf, "queue_ms = 1000\n");
    if (!server_sets(options, "socket_mode =")) /* nginx has a user of its own */
        fprintf(conf, "socket_mode = \"0666\"\n");
    if (!server_sets(options, "max_body ="))
        fprintf(conf, "max_body = 16M\n");
    if (options)
        fprintf(conf, "%s\n", options);
    server_write_routes(conf);
    fclose(conf);
}

static void server_run(const struct server *server)
{
    char program[640], conf[SERVER_PATH_MAX + 20], output[SERVER_PATH_MAX + 20];
    int fd;

    snprintf(program, sizeof program, "%s/%s", server_build(), server_program);
    snprintf(conf, sizeof conf, "%s/millrace.conf", server->directory);
    snprintf(output, sizeof output, "%s/output", server->directory);
    fd = open(output, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        dup2(fd, STDIN_FILENO);
    execl(program, program, "-c", conf, (char *)NULL);
    _exit(127);
}

const char *server_last_line(const struct server *server, const char *name)
{
    static char last[512];
    char path[SERVER_PATH_MAX + 20], line[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", server->directory, name);
    strcpy(last, "(nothing)");
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        strcpy(last, line);
    if (file)
        fclose(file);
    return last;
}

static bool server_is_ready(void *context)
{
    struct server *server = context;
    char path[SERVER_PATH_MAX + 20];
    struct stat stat_of;

    if (waitpid(server->pid, &server->status, WNOHANG) == server->pid) {
        server->pid = 0;
        SUITE_FAIL("the server did not start, status %d: %s", WEXITSTATUS(server->status),
                   server_last_line(server, "output"));
    }
    snprintf(path, sizeof path, "%s/pid", server->directory);
    return stat(path, &stat_of) == 0 && stat_of.st_size > 0;
}

/* A sanitizer's report is a failure of its own, whichever case brought it up. Crashes that a case asked for are not. */
static void server_check_reports(const char *name)
{
    static const char *const reports[] = {"WARNING: ThreadSanitizer", "LeakSanitizer: detected",
                                          "runtime error:", "ERROR: AddressSanitizer: "};
    char path[SERVER_PATH_MAX + 20], line[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", server_one.directory, name);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
            if (strstr(line, reports[i]) && !strstr(line, " on unknown address") &&
                !strstr(line, "stack-overflow on address"))
                printf("not ok - %s: a sanitizer's report: %s", program_invocation_short_name + strlen("test_"), line);
        }
    }
    if (file)
        fclose(file);
}

static void server_clean(void)
{
    char command[SERVER_PATH_MAX + 20];

    if (getpid() != server_owner || !server_one.directory[0])
        return;
    link_free_all();
    if (server_one.pid > 0) {
        kill(server_one.pid, SIGKILL); /* its workers notice */
        waitpid(server_one.pid, NULL, 0);
    }
    server_one.pid = 0;
    server_check_reports("output");
    server_check_reports("log");
    snprintf(command, sizeof command, "rm -rf '%s'", server_one.directory);
    if (system(command) != 0)
        fprintf(stderr, "%s failed\n", command);
    rmdir(server_base()); /* an own one; with tests/run it is not ours to judge */
    server_one.directory[0] = '\0';
}

static void server_prepare(struct server *server)
{
    static int number;

    if (!server_owner) {
        server_owner = getpid();
        prctl(PR_SET_CHILD_SUBREAPER, 1); /* a new master outlives the one that has started it */
        srand((unsigned)server_owner);
        atexit(server_clean);
    }
    server_clean();
    *server = (struct server){.pid = 0};
    server_is_shared = false;
    mkdir(server_base(), 0755);
    snprintf(server->directory, sizeof server->directory, "%s/%d", server_base(), ++number);
    SUITE_CHECK(mkdir(server->directory, 0755) == 0, "%s: %s", server->directory, strerror(errno));
    if (getenv("MILLRACE_TEST_TCP"))
        snprintf(server->local, sizeof server->local, "127.0.0.1:%d", server_free_port());
    else
        snprintf(server->local, sizeof server->local, "unix:%s/sock", server->directory);
    snprintf(server->tcp, sizeof server->tcp, "127.0.0.1:%d", server_free_port());
}

void server_use(const char *program)
{
    server_program = program;
}

struct server *server_start(const char *options)
{
    struct server *server = &server_one;

    server_prepare(server);
    server_write_conf(server, options);
    server->pid = fork();
    if (server->pid == 0)
        server_run(server);
    SUITE_CHECK(server->pid > 0, "fork: %s", strerror(errno));
    SUITE_CHECK(deadline_wait(SERVER_START_MS, server_is_ready, server),
                "the server wrote no pid file within %d ms: %s", SERVER_START_MS, server_last_line(server, "log"));
    return server;
}

struct server *server_shared(void)
{
    link_free_all();
    if (server_one.pid > 0 && waitpid(server_one.pid, NULL, WNOHANG) != 0)
        server_one.pid = 0;
    if (!server_is_shared || server_one.pid == 0) {
        server_start(NULL);
        server_is_shared = true;
    }
    return &server_one;
}

const char *server_scratch(const char *name)
{
    static char path[SERVER_PATH_MAX + 40];

    mkdir(server_base(), 0755);
    snprintf(path, sizeof path, "%s/%s", server_base(), name);
    return path;
}

void server_reconfigure(struct server *server, const char *options)
{
    server_write_conf(server, options);
}

static bool server_has_outcome(void *context)
{
    const struct server *server = context;
    char path[SERVER_PATH_MAX + 20];

    snprintf(path, sizeof path, "%s/pid.reload", server->directory);
    return access(path, F_OK) == 0;
}

const char *server_signal_outcome(struct server *server, int signal)
{
    char path[SERVER_PATH_MAX + 20];
    char *line;

    snprintf(path, sizeof path, "%s/pid.reload", server->directory);
    unlink(path);
    kill(server->pid, signal);
    SUITE_CHECK(deadline_wait(SERVER_START_MS, server_has_outcome, server), "nothing has come of signal %d: %s", signal,
                server_last_line(server, "log"));
    line = (char *)server_last_line(server, "pid.reload");
    line[strcspn(line, "\n")] = '\0';
    return line;
}

void server_follow(struct server *server)
{
    char *end;
    pid_t pid = (pid_t)strtol(server_last_line(server, "pid"), &end, 10);
    int status;

    SUITE_CHECK(pid > 0 && *end == '\n', "the pid file holds no number");
    if (pid == server->pid)
        return;
    status = server_wait(server, SERVER_STOP_MS);
    SUITE_CHECK(status == 0, "the old master ended with status %d", status);
    server->pid = pid;
}

static bool server_has_ended(void *context)
{
    struct server *server = context;

    return server->pid <= 0 || waitpid(server->pid, &server->status, WNOHANG) == server->pid;
}

int server_wait(struct server *server, int limit_ms)
{
    SUITE_CHECK(deadline_wait(limit_ms, server_has_ended, server), "the server did not end within %d ms: %s", limit_ms,
                server_last_line(server, "log"));
    server->pid = 0;
    return WIFSIGNALED(server->status) ? 128 + WTERMSIG(server->status) : WEXITSTATUS(server->status);
}

int server_stop(struct server *server, int signal)
{
    kill(server->pid, signal);
    return server_wait(server, SERVER_STOP_MS);
}

struct process_children server_workers(const struct server *server)
{
    return process_children(server->pid);
}

long server_sum(const struct server *server, long (*figure)(pid_t pid))
{
    struct process_children workers = server_workers(server);
    long sum = 0;

    for (size_t i = 0; i < workers.count; i++)
        sum += figure(workers.pids[i]);
    return sum;
}

struct server_search {
    const struct server *server;
    pid_t not_this;
    const char *text;
};

static bool server_is_whole(void *context)
{
    const struct server_search *search = context;
    struct process_children workers = server_workers(search->server);

    for (size_t i = 0; i < workers.count; i++) {
        if (workers.pids[i] == search->not_this)
            return false;
    }
    return workers.count == SERVER_WORKERS;
}

struct process_children server_workers_without(const struct server *server, pid_t not_this)
{
    struct server_search search = {.server = server, .not_this = not_this};

    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, server_is_whole, &search), "%zu workers run, process %d among them?",
                server_workers(server).count, (int)not_this);
    return server_workers(server);
}

static bool server_one_has_left(void *context)
{
    const struct process_children *of = context;

    for (size_t i = 0; i < of->count; i++) {
        if (!process_runs(of->pids[i]))
            return true;
    }
    return false;
}

bool server_lost_one(const struct process_children *of, int limit_ms)
{
    struct process_children these = *of;

    return deadline_wait(limit_ms, server_one_has_left, &these);
}

int server_count_lines(const struct server *server, const char *name, const char *text)
{
    char path[SERVER_PATH_MAX + 20], line[4096];
    int count = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", server->directory, name);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return count;
}

int server_log_count(const struct server *server, const char *text)
{
    return server_count_lines(server, "log", text);
}

static bool server_log_has(void *context)
{
    const struct server_search *search = context;

    return server_log_count(search->server, search->text) > 0;
}

bool server_log_waits_for(const struct server *server, const char *text, int limit_ms)
{
    struct server_search search = {.server = server, .text = text};

    return deadline_wait(limit_ms, server_log_has, &search);
}
