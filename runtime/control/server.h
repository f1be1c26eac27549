/*
 * server.h: the state of the master: what belongs to the server as a whole, its generations, and what is under way.
 */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/shared.h"
#include "control/generation.h"
#include "control/reload.h"
#include "control/report.h"
#include "control/sockets.h"
#include "control/status_child.h"
#include "control/upgrade.h"
#include "serve/inbox.h"

#define SERVER_GENERATIONS 32 /* that live at once, nearly all of them draining */

struct server {
    const char *program;       /* what a binary upgrade executes */
    const char *configuration; /* its path */
    const char *pid_file;      /* NULL: none; from the environment, or the first configuration */
    struct shared ledger;
    struct inbox handover; /* from workers that drain to those that do not */
    struct sockets sockets;
    struct generation *current; /* the one that serves; the first one from the beginning */
    struct generation *generations[SERVER_GENERATIONS];
    int generation_count;
    int access_fd; /* −1: no access log */
    int old_master; /* the channel to a master that serves until this one is ready, −1: none */
    struct reload reload;
    struct upgrade upgrade;
    struct reports reports;
    struct status_child status;
    bool announced; /* has been ready once */
    bool stopping;
    bool failed; /* stopping because a worker cannot live */
};

/* In a forked child: what belongs to the master alone. */
void server_close_channels(const struct server *server);

/* The number of the next generation. */
int server_next_number(struct server *server);

/* What a reload or an upgrade has come to, for whoever asked for it and waits: a line beside the pid file. */
void server_write_outcome(const struct server *server, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
void server_notify_reloading(void);

/* Opens the logs that the configuration names; the access log takes the place of the one in `access_fd` (−1: none). Returns
 * 0, −1 after a report, with the old ones as they were. */
int server_open_logs(const struct config *config, int *access_fd, config_report report)
    __attribute__((warn_unused_result));

/* The same with the present configuration, and hands them to the workers. */
void server_reopen_logs(struct server *server);

/* How workers drain when the server stops: while an old master serves, what is at rest is its workers'. */
enum worker_draining server_last_draining(const struct server *server);

/* Everything drains; everything ends at once. */
void server_stop(struct server *server, enum worker_draining how);
void server_kill(struct server *server);

static inline struct ledger *server_ledger(const struct server *server)
{
    return server->ledger.at;
}

#endif
