/*
 * reload.c: the steps of a reload. Runs in the master, which goes on supervising between them.
 */
#include "control/reload.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "control/environment.h"
#include "control/notify.h"
#include "control/places.h"
#include "control/server.h"

static struct reload *reporting; /* where the first fault is kept: a report has no other way to know */

static void report_fault(const char *line)
{
    log_error("reload", "%s", line);
    if (reporting->why[0] == '\0')
        snprintf(reporting->why, sizeof reporting->why, "%s", line);
}

bool reload_is_under_way(const struct server *server)
{
    return server->reload.verify.pid != 0 || server->reload.next != NULL || server->reload.old != NULL;
}

/* Ready again for the next, which may have been asked for already. */
static void end(struct server *server)
{
    bool again = server->reload.again;
    server->reload = (struct reload){0};
    notify_send("READY=1\nSTATUS=serving");
    if (again && !server->stopping)
        reload_begin(server);
}

static void fail(struct server *server)
{
    struct reload *reload = &server->reload;
    const char *why = reload->why[0] != '\0' ? reload->why : "a worker could not start: see the log";
    if (reload->logs_changed)
        server_reopen_logs(server);
    log_error("reload", "reload failed: %s; generation %d serves on", why, server->current->number);
    ledger_count(server_ledger(server), LEDGER_RELOAD_FAILURES);
    server_write_outcome(server, "failed %s", why);
    config_fini(&reload->config);
    end(server);
}

void reload_begin(struct server *server)
{
    struct reload *reload = &server->reload;
    if (reload_is_under_way(server)) {
        reload->again = true;
        return;
    }
    log_info("reload", "reading %s", server->configuration);
    server_notify_reloading();
    *reload = (struct reload){0};
    reporting = reload;
    if (config_read(&reload->config, server->configuration, report_fault) < 0 ||
        environment_apply(&reload->config, report_fault) < 0 ||
        places_check(&reload->config, report_fault) < 0) {
        fail(server);
    } else if (verify_begin(&reload->verify, &reload->config) < 0) {
        report_fault("cannot check the applications: fork failed");
        fail(server);
    }
}

/* Its sockets, its workers. */
static int start_next(struct server *server)
{
    struct reload *reload = &server->reload;
    struct sockets sockets;
    if (server->generation_count == SERVER_GENERATIONS) {
        report_fault("too many generations still drain: wait until their requests have ended");
        return -1;
    }
    if (sockets_change(&sockets, &server->sockets, &reload->config, report_fault) < 0)
        return -1;
    if (server_open_logs(&reload->config, &server->access_fd, report_fault) < 0) {
        sockets_drop(&sockets, &server->sockets);
        return -1;
    }
    reload->logs_changed = true;
    reload->next = generation_new(server, &reload->config, &sockets, server_next_number(server));
    if (reload->next == NULL) {
        report_fault(strerror(errno));
        sockets_drop(&sockets, &server->sockets);
        return -1;
    }
    server->generations[server->generation_count++] = reload->next;
    generation_start(reload->next);
    return 0;
}

void reload_fire_due(struct server *server, int64_t now_us)
{
    struct verify *verify = &server->reload.verify;
    if (verify->pid == 0 || verify->due_us == 0 || verify->due_us > now_us)
        return;
    verify->due_us = 0; /* once; its end comes by its channel */
    verify_end(verify);
}

void reload_hear(struct server *server)
{
    struct reload *reload = &server->reload;
    reporting = reload;
    enum verify_result result = verify_hear(&reload->verify, &reload->config, report_fault);
    if (result == VERIFY_MORE)
        return;
    reload->verify = (struct verify){.channel = -1}; /* reaped like every child */
    if (result == VERIFY_FAILED || start_next(server) < 0)
        fail(server);
}

static void succeed(struct server *server)
{
    struct generation *next = server->reload.next, *old = server->current;
    struct sockets before = server->sockets;
    server->current = next;
    server->sockets = next->sockets;
    sockets_drop(&before, &server->sockets);
    log_info("reload", "generation %d serves", next->number);
    ledger_count(server_ledger(server), LEDGER_RELOADS);
    generation_drain(old, WORKER_MOVES);
    status_child_start(server);
    server->reload.next = NULL;
    server->reload.old = old;
}

void reload_look(struct server *server)
{
    struct generation *next = server->reload.next, *old = server->reload.old;
    if (old != NULL && generation_has_parted(old)) { /* from now on every request is answered by the new one */
        server_write_outcome(server, "ok %d", server->current->number);
        end(server);
    }
    if (next == NULL)
        return;
    if (next->failed) {
        server->reload.next = NULL;
        generation_drain(next, WORKER_MOVES); /* those that were ready have requests by now */
        sockets_drop(&next->sockets, &server->sockets);
        fail(server);
    } else if (generation_is_ready(next)) {
        succeed(server);
    }
}

void reload_cancel(struct server *server)
{
    struct reload *reload = &server->reload;
    reload->again = false;
    reload->old = NULL; /* it drains already */
    if (!reload_is_under_way(server))
        return;
    snprintf(reload->why, sizeof reload->why, "the server stops");
    if (reload->verify.pid != 0) {
        kill(reload->verify.pid, SIGKILL);
        close(reload->verify.channel);
    }
    if (reload->next != NULL)
        sockets_drop(&reload->next->sockets, &server->sockets); /* it stops like the others */
    fail(server);
}
