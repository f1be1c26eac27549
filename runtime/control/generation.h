/*
 * generation.h: the workers of one configuration: starts them, hears from them, replaces them, lets them go.
 */
#ifndef CONTROL_GENERATION_H
#define CONTROL_GENERATION_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/shared.h"
#include "control/config.h"
#include "control/sockets.h"
#include "control/supervise.h"
#include "serve/inbox.h"
#include "serve/worker.h"

struct server;

/* A process, or the place of one. A worker's number has two places, for the time in which its replacement starts. */
struct child {
    struct supervise supervise;
    pid_t pid;   /* 0: none */
    int channel; /* −1: none */
    bool retires; /* another is to take its place */
    bool parted;  /* it drains, and accepts nothing more */
};

struct generation {
    int number;
    struct server *server;
    struct config config;
    struct sockets sockets; /* shared with the server */
    struct shared board;
    struct inbox *inboxes;  /* one a place */
    struct child *children; /* one a place; the second half are the second ones */
    int place_count;
    int draining; /* enum worker_draining: what the workers were told */
    bool failed;  /* a worker cannot live */
};

/* Takes the configuration over, with the private copies of its applications. Starts nothing. Returns NULL with errno, and
 * leaves the configuration to the caller. */
struct generation *generation_new(struct server *server, struct config *config, const struct sockets *sockets, int number)
    __attribute__((warn_unused_result));

/* When it is gone. */
void generation_free(struct generation *generation);

void generation_start(struct generation *generation);
void generation_drain(struct generation *generation, enum worker_draining how);
void generation_kill(struct generation *generation);

/* Every worker is ready; no process is left. */
bool generation_is_ready(const struct generation *generation);
bool generation_is_gone(const struct generation *generation);

/* It drains, and whatever comes from now on is others' to answer. */
bool generation_has_parted(const struct generation *generation);

/* A process has ended. Returns false when it was none of these. */
bool generation_reap(struct generation *generation, pid_t pid, int status);

/* What to poll, one entry a place; and what has come. */
void generation_watch(const struct generation *generation, struct pollfd *watched);
void generation_hear(struct generation *generation, const struct pollfd *watched);

/* When something is due, INT64_MAX: nothing is; and doing it. */
int64_t generation_due_us(const struct generation *generation);
void generation_fire_due(struct generation *generation, int64_t now_us);

/* Says one thing to the worker of this process, if it is one of these. */
void generation_tell_process(struct generation *generation, pid_t pid, enum worker_word_kind kind);

/* Sends the descriptor of a log that was opened again. */
void generation_send_log(struct generation *generation, enum worker_word_kind kind, int fd);

/* What a worker gets; also for debugging, without a fork. */
struct worker_start generation_worker_start(const struct generation *generation, int place, int channel);

#endif
