/*
 * master.c: forks workers, hears from them and from signals, and asks supervise.c what to do. Runs as the process that
 * was started, on one thread; never touches a request or opens an application.
 */
#include "control/master.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "control/pid_file.h"
#include "control/supervise.h"
#include "serve/worker.h"

static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, 0};

struct child {
    struct supervise supervise;
    pid_t pid;   /* 0: none */
    int channel; /* −1: none */
};

struct master {
    const struct config *config;
    struct sockets *sockets;
    struct scoreboard *scoreboard;
    struct inbox *inboxes;
    struct child *children;
    int count;
    bool announced; /* every worker was ready once */
    bool failed;    /* stopping because a worker cannot live */
};

/* -- children ---------------------------------------------------------------------------------------------------------- */

static struct worker_start start_of(const struct master *master, const struct settings *settings, int number, int channel)
{
    return (struct worker_start){.settings = settings,
                                 .number = number,
                                 .channel = channel,
                                 .listeners = master->sockets->listeners,
                                 .listener_count = master->sockets->count,
                                 .scoreboard = master->scoreboard,
                                 .inboxes = master->inboxes};
}

static _Noreturn void become_worker(struct master *master, int number, int channel)
{
    /* A terminal's Ctrl-C and systemd's TERM reach every process; what they mean is the master's to decide. */
    static const int disregarded[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0};
    signals_reset(signals);
    signals_disregard(disregarded);
    for (int i = 0; i < master->count; i++)
        if (master->children[i].channel >= 0)
            close(master->children[i].channel);
    struct worker_start start = start_of(master, &master->config->settings, number, channel);
    worker_main(&start);
}

static void fork_worker(struct master *master, int number)
{
    struct child *child = &master->children[number];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        log_error("master", "cannot start worker %d: socketpair: %s", number + 1, strerror(errno));
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_worker(master, number + 1, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        log_error("master", "cannot start worker %d: fork: %s", number + 1, strerror(errno));
        close(ends[0]);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->pid = pid;
    child->channel = ends[0];
}

static void drain_worker(struct child *child)
{
    char message = WORKER_DRAIN;
    if (send(child->channel, &message, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE)
        log_error("master", "cannot tell worker %d to leave: %s", (int)child->pid, strerror(errno));
}

static void tell_all(struct master *master, enum supervise_event event);

static void tell(struct master *master, int number, enum supervise_event event)
{
    struct child *child = &master->children[number];
    switch (supervise_step(&child->supervise, event, clock_now_us(), master->config->stop_timeout_us)) {
    case SUPERVISE_DO_NOTHING:
        break;
    case SUPERVISE_DO_FORK:
        fork_worker(master, number);
        if (child->pid == 0) /* as if it had ended at once: tried again later, or given up */
            tell(master, number, SUPERVISE_EXITED);
        break;
    case SUPERVISE_DO_DRAIN:
        drain_worker(child);
        break;
    case SUPERVISE_DO_KILL:
        kill(child->pid, SIGKILL);
        break;
    case SUPERVISE_DO_GIVE_UP:
        if (!master->failed)
            log_error("master", "worker %d ended %s: stopping (the lines above say why it ended)", number + 1,
                      child->supervise.was_ready ? "again and again right after its start" : "before it was ready");
        master->failed = true;
        tell_all(master, SUPERVISE_STOP);
        break;
    }
}

static void tell_all(struct master *master, enum supervise_event event)
{
    for (int i = 0; i < master->count; i++)
        tell(master, i, event);
}

/* -- what the master hears --------------------------------------------------------------------------------------------- */

static void log_end(const struct child *child, int number, int status)
{
    enum supervise_state state = child->supervise.state;
    bool expected = state == SUPERVISE_STOPPING || state == SUPERVISE_KILLED;
    if (WIFSIGNALED(status) && state != SUPERVISE_KILLED)
        log_error("master", "worker %d (process %d) was ended by signal %d (%s)%s", number + 1, (int)child->pid,
                  WTERMSIG(status), strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
    else if (WIFSIGNALED(status))
        log_warning("master", "worker %d (process %d) did not leave in time and was killed", number + 1,
                    (int)child->pid);
    else if (!expected || WEXITSTATUS(status) != 0)
        log_error("master", "worker %d (process %d) ended with status %d", number + 1, (int)child->pid,
                  WEXITSTATUS(status));
}

static void reap(struct master *master)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < master->count; i++) {
            struct child *child = &master->children[i];
            if (child->pid != pid)
                continue;
            log_end(child, i, status);
            close(child->channel);
            child->channel = -1;
            child->pid = 0;
            scoreboard_clear(master->scoreboard, i);
            tell(master, i, SUPERVISE_EXITED);
        }
    }
}

static void reopen_log(const struct config *config)
{
    if (config->log != NULL && log_open(config->log) < 0)
        log_error("master", "cannot reopen %s: %s", config->log, strerror(errno));
}

static void on_signal(struct master *master, int number)
{
    switch (number) {
    case SIGCHLD:
        reap(master);
        break;
    case SIGTERM:
        log_info("master", "SIGTERM: draining");
        tell_all(master, SUPERVISE_STOP);
        break;
    case SIGINT:
    case SIGQUIT:
        log_info("master", "%s: stopping at once", number == SIGINT ? "SIGINT" : "SIGQUIT");
        tell_all(master, SUPERVISE_KILL);
        break;
    case SIGUSR1:
        reopen_log(master->config);
        break;
    default:
        log_warning("master", "signal %d (%s) does nothing yet: restart for a new configuration or binary", number,
                    strsignal(number));
    }
}

static void on_channel(struct master *master, int number)
{
    char message;
    while (read(master->children[number].channel, &message, 1) == 1)
        if (message == WORKER_READY)
            tell(master, number, SUPERVISE_IS_READY);
}

/* -- the loop ---------------------------------------------------------------------------------------------------------- */

static bool all_are(const struct master *master, enum supervise_state state)
{
    for (int i = 0; i < master->count; i++)
        if (master->children[i].supervise.state != state)
            return false;
    return true;
}

static void announce(struct master *master)
{
    if (master->announced || !all_are(master, SUPERVISE_READY))
        return;
    master->announced = true;
    log_info("master", "ready: %d workers", master->count);
    if (pid_file_write(master->config->pid_file) < 0) {
        log_error("master", "cannot write pid_file %s: %s", master->config->pid_file, strerror(errno));
        master->failed = true;
        tell_all(master, SUPERVISE_STOP);
    }
}

static void fire_due(struct master *master)
{
    int64_t now_us = clock_now_us();
    for (int i = 0; i < master->count; i++) {
        int64_t due_us = master->children[i].supervise.due_us;
        if (due_us != 0 && due_us <= now_us)
            tell(master, i, SUPERVISE_DUE);
    }
}

static int wait_ms(const struct master *master)
{
    int64_t first_us = INT64_MAX;
    for (int i = 0; i < master->count; i++) {
        int64_t due_us = master->children[i].supervise.due_us;
        if (due_us != 0 && due_us < first_us)
            first_us = due_us;
    }
    if (first_us == INT64_MAX)
        return -1;
    int64_t left_us = first_us - clock_now_us();
    return left_us <= 0 ? 0 : (int)(left_us / CLOCK_MS + 1);
}

static void wait_and_hear(struct master *master, int signal_fd, struct pollfd *watched)
{
    watched[0] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
    for (int i = 0; i < master->count; i++)
        watched[i + 1] = (struct pollfd){.fd = master->children[i].channel, .events = POLLIN};
    if (poll(watched, (nfds_t)master->count + 1, wait_ms(master)) < 0)
        CHECK(errno == EINTR);
    int number;
    for (int i = 0; i < master->count; i++)
        if (master->children[i].channel >= 0 && (watched[i + 1].revents & POLLIN))
            on_channel(master, i);
    while ((number = signals_next()) != 0)
        on_signal(master, number);
    fire_due(master);
}

/* What the workers share. Returns 0, −1 with errno. */
static int make_shared(struct master *master)
{
    master->scoreboard = scoreboard_new(master->count);
    master->inboxes = calloc((size_t)master->count, sizeof *master->inboxes);
    if (master->scoreboard == NULL || master->inboxes == NULL)
        return -1;
    for (int i = 0; i < master->count; i++)
        if (inbox_init(&master->inboxes[i]) < 0)
            return -1;
    return 0;
}

static void free_shared(struct master *master)
{
    for (int i = 0; i < master->count; i++)
        inbox_fini(&master->inboxes[i]);
    free(master->inboxes);
    scoreboard_free(master->scoreboard);
}

int master_run(const struct config *config, struct sockets *sockets)
{
    struct master master = {.config = config, .sockets = sockets, .count = config->settings.workers};
    int signal_fd = signals_open(signals);
    struct pollfd *watched = calloc((size_t)master.count + 1, sizeof *watched);
    master.children = calloc((size_t)master.count, sizeof *master.children);
    if (signal_fd < 0 || watched == NULL || master.children == NULL || make_shared(&master) < 0) {
        fprintf(stderr, "millrace: cannot start: %s\n", strerror(errno));
        sockets_close(sockets);
        return MASTER_EXIT_CANNOT_START;
    }
    for (int i = 0; i < master.count; i++)
        master.children[i].channel = -1;
    log_info("master", "millrace %s starts", MR_VERSION);
    sockets_log(sockets, config->socket_rules.backlog);
    tell_all(&master, SUPERVISE_START);
    while (!all_are(&master, SUPERVISE_GONE)) {
        wait_and_hear(&master, signal_fd, watched);
        announce(&master);
    }
    sockets_close(sockets);
    pid_file_remove(config->pid_file);
    log_info("master", "stopped");
    free_shared(&master);
    free(master.children);
    free(watched);
    return master.failed ? MASTER_EXIT_CANNOT_START : MASTER_EXIT_STOPPED;
}

/* -- debugging --------------------------------------------------------------------------------------------------------- */

static struct {
    struct sockets *sockets;
    const char *pid_file;
} debugged;

static void clean_up_debugged(void)
{
    sockets_close(debugged.sockets);
    pid_file_remove(debugged.pid_file);
}

_Noreturn void master_debug(const struct config *config, struct sockets *sockets)
{
    debugged.sockets = sockets;
    debugged.pid_file = config->pid_file;
    atexit(clean_up_debugged); /* worker_main ends with exit() */
    static const int ends[] = {SIGTERM, SIGINT, 0};
    static struct settings settings;
    settings = config->settings;
    settings.debug = true;
    settings.account.change = false; /* who gives up root's rights cannot remove the socket and the pid file again */
    settings.workers = settings.lanes = settings.threads = 1;
    int signal_fd = signals_open(ends); /* each byte on it is word to drain, like a master's */
    struct master master = {.config = config, .sockets = sockets, .count = 1};
    CHECK(signal_fd >= 0 && make_shared(&master) == 0);
    sockets_log(sockets, config->socket_rules.backlog);
    if (pid_file_write(config->pid_file) < 0)
        log_error("master", "cannot write pid_file %s: %s", config->pid_file, strerror(errno));
    struct worker_start start = start_of(&master, &settings, 1, signal_fd);
    worker_main(&start);
}
