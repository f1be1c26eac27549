/*
 * places.c: looks at directories. Runs in the master, before it opens anything there.
 */
#include "control/places.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct places {
    const struct config *config;
    config_report report;
    int faults;
};

static void fault(struct places *places, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

static void fault(struct places *places, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    places->report(text);
    places->faults++;
}

/* In a directory with the sticky bit nobody can rename or remove what is root's. */
static bool others_can_change(const struct stat *status, uid_t worker)
{
    if (status->st_uid == worker)
        return true;
    if (status->st_mode & S_ISVTX)
        return false;
    return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && status->st_gid != 0);
}

/* `directory` and everything above it. */
static void check_owners(struct places *places, const char *what, const char *path, char *directory)
{
    struct stat status;
    for (;;) {
        if (stat(directory[0] == '\0' ? "/" : directory, &status) < 0)
            return;
        if (others_can_change(&status, places->config->settings.account.user)) {
            fault(places,
                  "%s %.300s: the workers' user, or anybody, can write the directory %.300s: root opens no file there; "
                  "choose one that root alone can write",
                  what, path, directory);
            return;
        }
        char *slash = strrchr(directory, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* A socket whose directory is not there is no fault yet: it may be inherited, and who binds it finds out. */
static void check_place(struct places *places, const char *what, const char *path, bool is_made)
{
    char directory[PATH_MAX], resolved[PATH_MAX];
    struct stat status;
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        snprintf(directory, sizeof directory, ".");
    else
        slash[slash == directory] = '\0';
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        fault(places, "%s: \"%.300s\" is no file name", what, path);
    else if (stat(directory, &status) < 0 || realpath(directory, resolved) == NULL) {
        if (is_made)
            fault(places, "%s %.300s: the directory %.300s: %s: create it first", what, path, directory,
                  strerror(errno));
    } else if (!S_ISDIR(status.st_mode))
        fault(places, "%s %.300s: %.300s is no directory", what, path, directory);
    else if (places->config->settings.account.change && places->config->settings.account.user != 0)
        check_owners(places, what, path, resolved);
}

static void check_socket(struct places *places, const char *what, const struct address *address)
{
    if (address_is_local(address))
        check_place(places, what, address->socket.local.sun_path, false);
}

int places_check(const struct config *config, config_report report)
{
    struct places places = {.config = config, .report = report};
    for (int protocol = 0; protocol < LISTENER_PROTOCOLS; protocol++)
        for (int i = 0; i < config->listen[protocol].count; i++)
            check_socket(&places, listener_names[protocol], &config->listen[protocol].addresses[i]);
    if (config->has_status)
        check_socket(&places, "status", &config->status);
    if (config->log != NULL)
        check_place(&places, "log", config->log, true);
    if (config->access_log != NULL)
        check_place(&places, "access_log", config->access_log, true);
    if (config->pid_file != NULL)
        check_place(&places, "pid_file", config->pid_file, true);
    return places.faults == 0 ? 0 : -1;
}
