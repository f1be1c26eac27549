/*
 * notify.c: datagrams to the service manager. Runs in the master.
 */
#include "control/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

#define VARIABLE "NOTIFY_SOCKET"

static char notify_path[sizeof((struct sockaddr_un *)0)->sun_path]; /* "": nobody asked */

void notify_init(void)
{
    const char *path = getenv(VARIABLE);
    notify_path[0] = '\0';
    if (path != NULL && (path[0] == '/' || path[0] == '@') && strlen(path) < sizeof notify_path)
        snprintf(notify_path, sizeof notify_path, "%s", path);
    unsetenv(VARIABLE);
}

/* A lost READY=1 would have the manager end the service: it may be slow to read, for as long as the master can do
 * without. */
static int send_to(int fd, const struct sockaddr_un *address, size_t path_length, const char *state)
{
    struct timeval limit = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_length));
    return sent < 0 ? -1 : 0;
}

void notify_send(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(notify_path);
    if (length == 0)
        return;
    memcpy(address.sun_path, notify_path, length);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; /* a name without a file */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || send_to(fd, &address, length, state) < 0)
        log_warning("notify", "systemd is not told %.*s: %s", (int)strcspn(state, "\n"), state, strerror(errno));
    if (fd >= 0)
        close(fd);
}

void notify_pass_on(void)
{
    if (notify_path[0] != '\0')
        setenv(VARIABLE, notify_path, 1);
}
