/*
 * upgrade.c: both sides of a change of the program. Runs in the old master and in the new one.
 */
#include "control/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/signals.h"
#include "control/environment.h"
#include "control/notify.h"
#include "control/server.h"

#define VARIABLE   "MILLRACE_UPGRADE"
#define HEADING    "millrace-upgrade 1"
#define READY      "ready %d" /* the generation's number */
#define TEXT_BYTES 16384

/* -- the old master: passing on
 * --------------------------------------------------------------------------------------------- */

static void pass(FILE *to, const char *name, int fd)
{
    fcntl(fd, F_SETFD, 0);
    fprintf(to, "%s %d\n", name, fd);
}

static void pass_listener(FILE *to, const char *name, const struct listener *listener)
{
    fcntl(listener->fd, F_SETFD, 0);
    fprintf(to, "%s %d %d %llu %llu %s\n", name, listener->fd, listener->made, (unsigned long long)listener->device,
            (unsigned long long)listener->inode, listener->address.text);
}

/* In the child that becomes the new master. */
static int write_inheritance(const struct server *server, int channel)
{
    const struct sockets *sockets = &server->sockets;
    int fd = memfd_create("millrace-upgrade", 0);
    FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");
    if (to == NULL)
        return -1;
    fprintf(to, "%s\ninherited %d %d %d\n", HEADING, sockets->inherited[LISTENER_FASTCGI], sockets->status_inherited,
            sockets->inherited[LISTENER_HTTP]);
    for (int i = 0; i < sockets->count; i++)
        pass_listener(to, listener_names[sockets->listeners[i].protocol], &sockets->listeners[i]);
    if (sockets->status.fd >= 0)
        pass_listener(to, "status", &sockets->status);
    pass(to, "ledger", server->ledger.fd);
    pass(to, "receive", server->handover.receive_fd);
    pass(to, "send", server->handover.send_fd);
    pass(to, "channel", channel);
    return fclose(to) == 0 ? fd : -1;
}

static _Noreturn void become_new_master(const struct server *server, int channel)
{
    char number[16];
    signals_reset_all();
    server_close_channels(server);
    int fd = write_inheritance(server, channel);
    snprintf(number, sizeof number, "%d", fd);
    setenv(VARIABLE, number, 1);
    environment_pass_on();
    notify_pass_on();
    if (fd >= 0)
        execl(server->program, server->program, "-c", server->configuration, (char *)NULL);
    upgrade_tell_fault(channel, strerror(errno));
    _exit(127);
}

static void fail(struct server *server)
{
    struct upgrade *upgrade = &server->upgrade;
    const char *why = upgrade->why[0] != '\0' ? upgrade->why : "the new program ended before it was ready: see the log";
    log_error("upgrade", "upgrade failed: %s; this program serves on", why);
    ledger_count(server_ledger(server), LEDGER_RELOAD_FAILURES);
    server_write_outcome(server, "failed %s", why);
    notify_send("READY=1\nSTATUS=serving");
    if (upgrade->channel >= 0)
        close(upgrade->channel);
    *upgrade = (struct upgrade){.channel = -1};
}

void upgrade_begin(struct server *server)
{
    struct upgrade *upgrade = &server->upgrade;
    int ends[2];
    log_info("upgrade", "starting %s", server->program);
    server_notify_reloading();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        fail(server);
        return;
    }
    *upgrade = (struct upgrade){.channel = -1};
    upgrade->pid = fork();
    if (upgrade->pid == 0) {
        close(ends[0]);
        become_new_master(server, ends[1]);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    upgrade->channel = ends[0];
    if (upgrade->pid < 0) {
        fail(server);
        return;
    }
    upgrade->due_us = clock_now_us() + 2 * server->current->config.start_timeout_us;
}

static void succeed(struct server *server)
{
    char state[80];
    log_info("upgrade", "process %d has taken over: draining", (int)server->upgrade.pid);
    /* The service manager has not listened to the new one so far. */
    snprintf(state, sizeof state, "MAINPID=%d\nREADY=1\nSTATUS=serving", (int)server->upgrade.pid);
    notify_send(state);
    server->upgrade.done = true;
    server->upgrade.due_us = 0;
    for (int i = 0; i < server->generation_count; i++)
        sockets_disown(&server->generations[i]->sockets);
    sockets_disown(&server->sockets);
    status_child_end(server);
    server_stop(server, WORKER_MOVES);
}

bool upgrade_hear(struct server *server)
{
    struct upgrade *upgrade = &server->upgrade;
    char text[sizeof upgrade->why];
    int fd;
    ssize_t got = packet_receive(upgrade->channel, text, sizeof text - 1, &fd);
    if (fd >= 0)
        close(fd);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) { /* it has ended, which is told by a signal as well, or needs the channel no more */
        close(upgrade->channel);
        upgrade->channel = -1;
        return false;
    }
    text[got] = '\0';
    if (!upgrade->done && !server->stopping && sscanf(text, READY, &upgrade->generation) == 1)
        succeed(server);
    else if (upgrade->why[0] == '\0')
        memcpy(upgrade->why, text, sizeof text);
    return true;
}

bool upgrade_reap(struct server *server, pid_t pid, int status)
{
    struct upgrade *upgrade = &server->upgrade;
    if (pid == 0 || pid != upgrade->pid)
        return false;
    while (upgrade->channel >= 0 && upgrade_hear(server))
        ; /* its last words */
    if (upgrade->done) {
        log_error("upgrade", "the new master has ended already");
        upgrade->pid = 0;
        return true;
    }
    if (WIFSIGNALED(status) && upgrade->why[0] == '\0')
        snprintf(upgrade->why, sizeof upgrade->why, "the new program was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    fail(server);
    return true;
}

void upgrade_fire_due(struct server *server, int64_t now_us)
{
    struct upgrade *upgrade = &server->upgrade;
    if (upgrade->due_us == 0 || upgrade->due_us > now_us)
        return;
    if (!upgrade->asked) { /* its workers, if there are any, may have requests by now */
        snprintf(upgrade->why, sizeof upgrade->why, "the new program was not ready within twice start_timeout");
        upgrade->asked = true;
        upgrade->due_us = now_us + server->current->config.stop_timeout_us;
        kill(upgrade->pid, SIGTERM);
    } else {
        upgrade->due_us = 0;
        kill(upgrade->pid, SIGKILL);
    }
}

void upgrade_look(struct server *server)
{
    struct upgrade *upgrade = &server->upgrade;
    if (upgrade->generation == 0)
        return;
    for (int i = 0; i < server->generation_count; i++)
        if (!generation_has_parted(server->generations[i]))
            return;
    server_write_outcome(server, "ok %d", upgrade->generation);
    upgrade->generation = 0;
}

void upgrade_cancel(struct server *server)
{
    if (server->upgrade.pid > 0 && !server->upgrade.done)
        kill(server->upgrade.pid, SIGTERM);
}

/* -- the new master: taking over
 * ------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool take_listener(struct listener *listener, int fd, const char *rest)
{
    int made, length = 0;
    unsigned long long device, inode;
    if (sscanf(rest, "%d %llu %llu %n", &made, &device, &inode, &length) < 3 || listener_adopt(listener, fd) < 0)
        return false;
    listener->made = listener->lent = made; /* the old master's until this one is ready */
    listener->device = (dev_t)device;
    listener->inode = (ino_t)inode;
    snprintf(listener->address.text, sizeof listener->address.text, "%s", rest + length);
    return true;
}

/* Lines of a later version that mean nothing here are left out; their descriptors are closed as strangers'. */
static bool take_line(struct inheritance *of, const char *line, int *fd)
{
    char name[16];
    int length = 0;
    if (sscanf(line, "%15s %d %n", name, fd, &length) < 2)
        return false;
    for (int protocol = 0; protocol < LISTENER_PROTOCOLS && of->sockets.count < SOCKETS_MAX; protocol++) {
        struct listener *listener = &of->sockets.listeners[of->sockets.count];
        if (strcmp(name, listener_names[protocol]) != 0)
            continue;
        of->sockets.count++;
        bool taken = take_listener(listener, *fd, line + length);
        listener->protocol = (enum listener_protocol)protocol;
        return taken;
    }
    if (strcmp(name, "status") == 0)
        return take_listener(&of->sockets.status, *fd, line + length);
    int *place = strcmp(name, "ledger") == 0    ? &of->ledger_fd
                 : strcmp(name, "receive") == 0 ? &of->handover.receive_fd
                 : strcmp(name, "send") == 0    ? &of->handover.send_fd
                 : strcmp(name, "channel") == 0 ? &of->channel
                                                : NULL;
    if (place == NULL) {
        int status = 0, http = 0;
        if (strcmp(name, "inherited") != 0 || sscanf(line + length, "%d %d", &status, &http) < 1)
            return *fd = -1, true;
        of->sockets.inherited[LISTENER_FASTCGI] = *fd;
        of->sockets.inherited[LISTENER_HTTP] = http;
        of->sockets.status_inherited = status;
        return *fd = -1, true;
    }
    *place = *fd;
    return fcntl(*fd, F_SETFD, FD_CLOEXEC) == 0;
}

static bool take_lines(struct inheritance *of, char *text)
{
    char *place = NULL, *line = strtok_r(text, "\n", &place);
    int count = 0, fd;
    if (line == NULL || strcmp(line, HEADING) != 0)
        return false;
    while ((line = strtok_r(NULL, "\n", &place)) != NULL) {
        if (!take_line(of, line, &fd) || count == UPGRADE_FDS_MAX)
            return false;
        if (fd >= 0)
            of->fds[count++] = fd;
    }
    qsort(of->fds, (size_t)count, sizeof *of->fds, by_number);
    of->fds[count] = -1;
    return of->channel >= 0 && of->handover.receive_fd >= 0 && of->handover.send_fd >= 0;
}

int upgrade_inherit(struct inheritance *inheritance)
{
    char text[TEXT_BYTES];
    const char *number = getenv(VARIABLE);
    *inheritance = (struct inheritance){
        .ledger_fd = -1, .channel = -1, .handover = {.receive_fd = -1, .send_fd = -1}, .sockets.status.fd = -1};
    inheritance->fds[0] = -1;
    if (number == NULL)
        return 0;
    int fd = (int)strtol(number, NULL, 10);
    unsetenv(VARIABLE);
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return take_lines(inheritance, text) ? 1 : -1;
}

void upgrade_tell_fault(int channel, const char *line)
{
    if (packet_send(channel, line, strnlen(line, 500), -1) < 0)
        log_warning("upgrade", "the old master does not listen: %s", strerror(errno));
}

void upgrade_tell_ready(int channel, int generation)
{
    char text[32];
    snprintf(text, sizeof text, READY, generation);
    upgrade_tell_fault(channel, text);
}
