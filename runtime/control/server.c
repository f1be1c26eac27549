/*
 * server.c: small things that several parts of the master need. Runs in the master.
 */
#include "control/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/notify.h"
#include "control/pid_file.h"

void server_close_channels(const struct server *server)
{
    for (int i = 0; i < server->generation_count; i++)
        for (int j = 0; j < server->generations[i]->place_count; j++)
            if (server->generations[i]->children[j].channel >= 0)
                close(server->generations[i]->children[j].channel);
    if (server->reload.verify.pid != 0)
        close(server->reload.verify.channel);
    if (server->upgrade.channel >= 0)
        close(server->upgrade.channel);
    if (server->status.channel >= 0)
        close(server->status.channel);
    if (server->old_master >= 0)
        close(server->old_master);
}

int server_next_number(struct server *server)
{
    return atomic_fetch_add(&server_ledger(server)->generation, 1) + 1;
}

void server_write_outcome(const struct server *server, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (pid_file_write_outcome(server->pid_file, text) < 0)
        log_error("master", "cannot write %s.reload: %s", server->pid_file, strerror(errno));
}

void server_notify_reloading(void)
{
    char state[96];
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=reloading", (long long)clock_now_us());
    notify_send(state);
}

/* -- logs
 * -------------------------------------------------------------------------------------------------------------------
 */

static void report_open(config_report report, const char *what, const char *path)
{
    char text[600];
    snprintf(text, sizeof text, "cannot open the %s %.400s: %s", what, path, strerror(errno));
    report(text);
}

int server_open_logs(const struct config *config, int *access_fd, config_report report)
{
    int opened = -1;
    if (config->access_log != NULL) {
        opened = log_file_open(config->access_log);
        if (opened < 0) {
            report_open(report, "access log", config->access_log);
            return -1;
        }
    }
    if (config->log != NULL && log_open(config->log) < 0) {
        report_open(report, "log", config->log);
        if (opened >= 0)
            close(opened);
        return -1;
    }
    if (*access_fd >= 0)
        close(*access_fd);
    *access_fd = opened;
    return 0;
}

static void report_reopening(const char *line)
{
    log_error("master", "%s", line);
}

void server_reopen_logs(struct server *server)
{
    const struct config *config = &server->current->config;
    if (server_open_logs(config, &server->access_fd, report_reopening) < 0)
        return;
    for (int i = 0; i < server->generation_count; i++) {
        if (config->log != NULL)
            generation_send_log(server->generations[i], WORKER_LOG, STDERR_FILENO);
        if (server->access_fd >= 0)
            generation_send_log(server->generations[i], WORKER_ACCESS, server->access_fd);
    }
}

/* -- stopping
 * --------------------------------------------------------------------------------------------------------------- */

enum worker_draining server_last_draining(const struct server *server)
{
    return server->old_master >= 0 ? WORKER_MOVES : WORKER_ENDS;
}

void server_stop(struct server *server, enum worker_draining how)
{
    server->stopping = true;
    reload_cancel(server);
    upgrade_cancel(server);
    for (int i = 0; i < server->generation_count; i++)
        generation_drain(server->generations[i], how);
}

void server_kill(struct server *server)
{
    server->stopping = true;
    reload_cancel(server);
    upgrade_cancel(server);
    for (int i = 0; i < server->generation_count; i++)
        generation_kill(server->generations[i]);
}
