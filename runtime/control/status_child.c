/*
 * status_child.c: forks the status process. Runs in the master.
 */
#include "control/status_child.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "control/server.h"
#include "control/status.h"

#define AGAIN_US CLOCK_SECOND

static void fill_source(struct snapshot_source *source, const struct server *server)
{
    *source = (struct snapshot_source){
        .ledger = server->ledger.at, .master = getpid(), .generation = server->current->number};
    for (int i = 0; i < server->generation_count; i++)
        source->boards[source->board_count++] = server->generations[i]->board.at;
}

static _Noreturn void become_status(struct server *server, int channel)
{
    static const int disregarded[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0};
    struct status_start start = {
        .listener = &server->sockets.status, .channel = channel, .account = &server->current->config.settings.account};
    pid_t master = getppid();
    signals_reset_all();
    signals_disregard(disregarded);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that was stopped would not notice */
    fill_source(&start.source, server);
    start.source.master = master;
    server_close_channels(server);
    status_main(&start);
}

void status_child_end(struct server *server)
{
    struct status_child *status = &server->status;
    if (status->channel >= 0)
        close(status->channel);
    *status = (struct status_child){.channel = -1};
}

void status_child_start(struct server *server)
{
    struct status_child *status = &server->status, before = *status;
    int ends[2];
    *status = (struct status_child){.channel = -1};
    if (server->sockets.status.fd >= 0) {
        pid_t pid = -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
            pid = fork();
            if (pid == 0) {
                close(ends[0]);
                if (before.channel >= 0)
                    close(before.channel);
                become_status(server, ends[1]);
            }
            close(ends[1]);
            if (pid < 0)
                close(ends[0]);
        }
        if (pid < 0) {
            log_error("master", "cannot start the status process: %s", strerror(errno));
            status->due_us = clock_now_us() + AGAIN_US;
        } else {
            *status = (struct status_child){.pid = pid, .channel = ends[0]};
        }
    }
    if (before.channel >= 0)
        close(before.channel);
}

bool status_child_reap(struct server *server, pid_t pid, int status)
{
    if (pid != server->status.pid)
        return false;
    status_child_end(server);
    if (WIFSIGNALED(status))
        log_error("master", "the status process was ended by signal %d (%s): starting another", WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    else
        log_error("master", "the status process ended with status %d: starting another", WEXITSTATUS(status));
    server->status.due_us = clock_now_us() + AGAIN_US;
    return true;
}

void status_child_fire_due(struct server *server, int64_t now_us)
{
    if (server->status.due_us != 0 && server->status.due_us <= now_us)
        status_child_start(server);
}
