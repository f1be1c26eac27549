/*
 * generation.c: forks workers and asks supervise.c what to do about them. Runs in the master.
 */
#include "control/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/signals.h"
#include "control/server.h"

/* -- life
 * ---------------------------------------------------------------------------------------------------------------- */

static int make_inboxes(struct generation *generation)
{
    for (int i = 0; i < generation->place_count; i++)
        generation->inboxes[i] = (struct inbox){.receive_fd = -1, .send_fd = -1};
    for (int i = 0; i < generation->place_count; i++)
        if (inbox_init(&generation->inboxes[i]) < 0)
            return -1;
    return 0;
}

static void free_parts(struct generation *generation)
{
    for (int i = 0; generation->inboxes != NULL && i < generation->place_count; i++)
        if (generation->inboxes[i].receive_fd >= 0)
            inbox_fini(&generation->inboxes[i]);
    shared_fini(&generation->board);
    free(generation->inboxes);
    free(generation->children);
    free(generation);
}

struct generation *generation_new(struct server *server, struct config *config, const struct sockets *sockets,
                                  int number)
{
    struct generation *generation = calloc(1, sizeof *generation);
    if (generation == NULL)
        return NULL;
    generation->number = number;
    generation->server = server;
    generation->sockets = *sockets;
    generation->place_count = 2 * config->settings.workers;
    generation->inboxes = calloc((size_t)generation->place_count, sizeof *generation->inboxes);
    generation->children = calloc((size_t)generation->place_count, sizeof *generation->children);
    if (generation->inboxes == NULL || generation->children == NULL || make_inboxes(generation) < 0 ||
        scoreboard_new(&generation->board, &config->settings, number) < 0) {
        int error = errno;
        free_parts(generation);
        errno = error;
        return NULL;
    }
    for (int i = 0; i < generation->place_count; i++)
        generation->children[i].channel = -1;
    generation->config = *config;
    *config = (struct config){0};
    return generation;
}

void generation_free(struct generation *generation)
{
    config_fini(&generation->config);
    free_parts(generation);
}

/* -- processes
 * ------------------------------------------------------------------------------------------------------------ */

/* A worker's number, from 1, is that of its place or the one beside. */
static int number_of(const struct generation *generation, int place)
{
    return place % generation->config.settings.workers + 1;
}

static struct child *other_of(struct generation *generation, int place)
{
    int workers = generation->config.settings.workers;
    return &generation->children[place < workers ? place + workers : place - workers];
}

struct worker_start generation_worker_start(const struct generation *generation, int place, int channel)
{
    struct server *server = generation->server;
    return (struct worker_start){.settings = &generation->config.settings,
                                 .number = number_of(generation, place),
                                 .generation = generation->number,
                                 .channel = channel,
                                 .access_fd = server->access_fd,
                                 .listeners = (struct listener *)(uintptr_t)generation->sockets.listeners,
                                 .listener_count = generation->sockets.count,
                                 .board = generation->board.at,
                                 .slot = place,
                                 .ledger = server_ledger(server),
                                 .inboxes = generation->inboxes,
                                 .handover = &server->handover};
}

static _Noreturn void become_worker(struct generation *generation, int place, int channel)
{
    /* A terminal's Ctrl-C and systemd's TERM reach every process; what they mean is the master's to decide. */
    static const int disregarded[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0};
    signals_reset_all();
    signals_disregard(disregarded);
    server_close_channels(generation->server);
    struct worker_start start = generation_worker_start(generation, place, channel);
    worker_main(&start);
}

static void fork_worker(struct generation *generation, int place)
{
    struct child *child = &generation->children[place];
    int ends[2], number = number_of(generation, place);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        log_error("master", "cannot start worker %d: socketpair: %s", number, strerror(errno));
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become_worker(generation, place, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        log_error("master", "cannot start worker %d: fork: %s", number, strerror(errno));
        close(ends[0]);
        return;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->pid = pid;
    child->channel = ends[0];
}

static void tell_worker(const struct child *child, enum worker_word_kind kind, int value, int fd)
{
    struct worker_word word = {.kind = (char)kind, .value = value};
    if (child->channel >= 0 && packet_send(child->channel, &word, sizeof word, fd) < 0 && errno != EPIPE)
        log_error("master", "cannot tell process %d: %s", (int)child->pid, strerror(errno));
}

/* -- what happens to a worker
 * --------------------------------------------------------------------------------------------- */

static void tell(struct generation *generation, int place, enum supervise_event event);

/* The one that took its place could not: the old one stays, or if it has gone by now is started again. */
static void give_up(struct generation *generation, int place)
{
    struct child *child = &generation->children[place], *other = other_of(generation, place);
    int number = number_of(generation, place);
    bool was_ready = child->supervise.was_ready;
    child->supervise = (struct supervise){0};
    if (other->retires) {
        log_error("master", "worker %d stays: its replacement ended before it was ready", number);
        other->retires = false;
        if (other->pid == 0)
            tell(generation, (int)(other - generation->children), SUPERVISE_START);
        return;
    }
    child->supervise.state = SUPERVISE_GONE;
    if (!generation->failed)
        log_error("master", "worker %d ended %s (the lines above say why it ended)", number,
                  was_ready ? "again and again without becoming ready" : "before it was ready");
    generation->failed = true;
}

static void tell(struct generation *generation, int place, enum supervise_event event)
{
    struct child *child = &generation->children[place];
    const struct supervise_limits limits = {.start_timeout_us = generation->config.start_timeout_us,
                                            .stop_timeout_us = generation->config.stop_timeout_us};
    switch (supervise_step(&child->supervise, event, clock_now_us(), &limits)) {
    case SUPERVISE_DO_NOTHING:
        break;
    case SUPERVISE_DO_FORK:
        fork_worker(generation, place);
        if (child->pid == 0)
            tell(generation, place, SUPERVISE_NOT_FORKED);
        break;
    case SUPERVISE_DO_DRAIN:
        tell_worker(child, WORKER_DRAIN, generation->draining == WORKER_SERVES ? WORKER_MOVES : generation->draining,
                    -1);
        break;
    case SUPERVISE_DO_KILL:
        if (event == SUPERVISE_DUE)
            log_error("master", "worker %d (process %d) %s: killing it", number_of(generation, place), (int)child->pid,
                      child->supervise.state == SUPERVISE_STARTING ? "was not ready within start_timeout"
                                                                   : "did not leave within stop_timeout");
        kill(child->pid, SIGKILL);
        break;
    case SUPERVISE_DO_GIVE_UP:
        give_up(generation, place);
        break;
    }
}

void generation_start(struct generation *generation)
{
    for (int i = 0; i < generation->config.settings.workers; i++)
        tell(generation, i, SUPERVISE_START);
}

void generation_drain(struct generation *generation, enum worker_draining how)
{
    if ((int)how <= generation->draining)
        return;
    generation->draining = how;
    for (int i = 0; i < generation->place_count; i++) {
        if (generation->children[i].supervise.state == SUPERVISE_STOPPING) /* those that were to move connections */
            tell_worker(&generation->children[i], WORKER_DRAIN, how, -1);
        tell(generation, i, SUPERVISE_STOP);
    }
}

void generation_kill(struct generation *generation)
{
    for (int i = 0; i < generation->place_count; i++)
        tell(generation, i, SUPERVISE_KILL);
}

bool generation_is_ready(const struct generation *generation)
{
    int workers = generation->config.settings.workers;
    for (int i = 0; i < workers; i++)
        if (generation->children[i].supervise.state != SUPERVISE_READY &&
            generation->children[i + workers].supervise.state != SUPERVISE_READY)
            return false;
    return true;
}

/* A second place that was never used is no process either. */
bool generation_is_gone(const struct generation *generation)
{
    for (int i = 0; i < generation->place_count; i++) {
        enum supervise_state state = generation->children[i].supervise.state;
        if (state != SUPERVISE_GONE && state != SUPERVISE_NONE)
            return false;
    }
    return true;
}

bool generation_has_parted(const struct generation *generation)
{
    for (int i = 0; i < generation->place_count; i++)
        if (generation->children[i].pid != 0 && !generation->children[i].parted)
            return false;
    return true;
}

/* -- its end
 * -------------------------------------------------------------------------------------------------------------- */

/* What other workers had sent to it is still to be served. */
static void forward_inbox(struct generation *generation, int place)
{
    uint8_t room[INBOX_NOTE_BYTES];
    struct span note;
    int fd;
    while ((fd = inbox_receive(&generation->inboxes[place], room, &note)) >= 0) {
        if (inbox_send(&generation->server->handover, fd, note) < 0)
            log_error("master", "a connection is lost: %s", strerror(errno));
        close(fd);
    }
}

/* They have no answer, so no count and no line in the access log tells of them. */
static void count_lost(const struct generation *generation, int place)
{
    struct scoreboard_activity activity;
    for (int i = 0; i < settings_pool_room(&generation->config.settings); i++)
        if (scoreboard_activity(scoreboard_thread(generation->board.at, place, i), &activity))
            ledger_count(server_ledger(generation->server), LEDGER_LOST);
}

static void log_end(struct generation *generation, int place, int status)
{
    const struct child *child = &generation->children[place];
    struct ledger *ledger = server_ledger(generation->server);
    enum supervise_state state = child->supervise.state;
    int number = number_of(generation, place);
    bool expected = state == SUPERVISE_STOPPING || state == SUPERVISE_KILLED;
    if (!expected && generation == generation->server->current)
        ledger_count(ledger, LEDGER_RESTARTS);
    if (!expected)
        count_lost(generation, place);
    if (state != SUPERVISE_KILLED && report_is_crash(generation, place, status)) {
        ledger_count(ledger, LEDGER_CRASHES_SEEN);
        report_crash(generation->server, generation, place, status);
    } else if (!WIFSIGNALED(status) && (!expected || WEXITSTATUS(status) != 0)) {
        log_error("master", "worker %d (process %d) ended with status %d", number, (int)child->pid,
                  WEXITSTATUS(status));
    }
}

/* One that was to be replaced is not started again. */
static void on_end(struct generation *generation, int place)
{
    struct child *child = &generation->children[place];
    bool leaves = child->supervise.state == SUPERVISE_STOPPING || child->supervise.state == SUPERVISE_KILLED;
    if (leaves || child->retires)
        forward_inbox(generation, place);
    if (child->retires && generation->draining == WORKER_SERVES)
        child->supervise = (struct supervise){0};
    else
        tell(generation, place, SUPERVISE_EXITED);
    if (child->pid == 0)
        child->retires = false;
}

bool generation_reap(struct generation *generation, pid_t pid, int status)
{
    for (int i = 0; i < generation->place_count; i++) {
        struct child *child = &generation->children[i];
        if (child->pid != pid)
            continue;
        log_end(generation, i, status);
        close(child->channel);
        child->channel = -1;
        child->pid = 0;
        child->parted = false;
        ledger_take(server_ledger(generation->server), &generation->board, i);
        on_end(generation, i);
        return true;
    }
    return false;
}

/* -- what workers say
 * ----------------------------------------------------------------------------------------------------- */

/* The replacement starts first, so that there are never fewer than were configured. */
static void replace(struct generation *generation, int place, int reason)
{
    static const char *const reasons[] = {
        [WORKER_FULL] = "max_requests", [WORKER_FAT] = "max_memory", [WORKER_OVERDUE] = "a request past request_grace"};
    struct child *child = &generation->children[place], *other = other_of(generation, place);
    if (generation->draining != WORKER_SERVES || child->supervise.state != SUPERVISE_READY || child->retires ||
        other->supervise.state != SUPERVISE_NONE || reason < WORKER_FULL || reason > WORKER_OVERDUE)
        return; /* it asks again */
    log_info("master", "worker %d (process %d) is replaced: %s", number_of(generation, place), (int)child->pid,
             reasons[reason]);
    ledger_count(server_ledger(generation->server), reason == WORKER_OVERDUE ? LEDGER_OVERDUE : LEDGER_RECYCLED);
    child->retires = true;
    tell(generation, (int)(other - generation->children), SUPERVISE_START);
}

static void on_ready(struct generation *generation, int place)
{
    struct child *other = other_of(generation, place);
    tell(generation, place, SUPERVISE_IS_READY);
    if (other->retires)
        tell(generation, (int)(other - generation->children), SUPERVISE_STOP);
}

static void on_word(struct generation *generation, int place, const struct worker_word *word)
{
    switch ((enum worker_word_kind)word->kind) {
    case WORKER_READY:
        on_ready(generation, place);
        break;
    case WORKER_PARTED:
        generation->children[place].parted = true;
        break;
    case WORKER_RETIRE:
        replace(generation, place, word->value);
        break;
    case WORKER_SLOW:
        report_slow(generation->server, generation, place, word->value);
        break;
    default:
        break;
    }
}

void generation_watch(const struct generation *generation, struct pollfd *watched)
{
    for (int i = 0; i < generation->place_count; i++)
        watched[i] = (struct pollfd){.fd = generation->children[i].channel, .events = POLLIN};
}

void generation_hear(struct generation *generation, const struct pollfd *watched)
{
    struct worker_word word;
    int fd;
    for (int i = 0; i < generation->place_count; i++) {
        if (!(watched[i].revents & POLLIN) || generation->children[i].channel != watched[i].fd)
            continue;
        while (generation->children[i].channel >= 0 &&
               packet_receive(generation->children[i].channel, &word, sizeof word, &fd) == sizeof word) {
            if (fd >= 0)
                close(fd); /* workers have nothing to send */
            on_word(generation, i, &word);
        }
    }
}

void generation_tell_process(struct generation *generation, pid_t pid, enum worker_word_kind kind)
{
    for (int i = 0; i < generation->place_count; i++)
        if (generation->children[i].pid == pid)
            tell_worker(&generation->children[i], kind, 0, -1);
}

void generation_send_log(struct generation *generation, enum worker_word_kind kind, int fd)
{
    for (int i = 0; i < generation->place_count; i++)
        tell_worker(&generation->children[i], kind, 0, fd);
}

/* -- time
 * ------------------------------------------------------------------------------------------------------------------ */

int64_t generation_due_us(const struct generation *generation)
{
    int64_t first_us = INT64_MAX;
    for (int i = 0; i < generation->place_count; i++) {
        int64_t due_us = generation->children[i].supervise.due_us;
        if (due_us != 0 && due_us < first_us)
            first_us = due_us;
    }
    return first_us;
}

void generation_fire_due(struct generation *generation, int64_t now_us)
{
    for (int i = 0; i < generation->place_count; i++) {
        int64_t due_us = generation->children[i].supervise.due_us;
        if (due_us != 0 && due_us <= now_us)
            tell(generation, i, SUPERVISE_DUE);
    }
}
