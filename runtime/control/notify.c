/*
 * notify.c: datagrams to the service manager. Runs in the master.
 */
#include "control/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "NOTIFY_SOCKET"

static char notify_path[sizeof((struct sockaddr_un *)0)->sun_path]; /* "": nobody asked */

void notify_init(void)
{
    const char *path = getenv(VARIABLE);
    if (path != NULL && (path[0] == '/' || path[0] == '@') && strlen(path) < sizeof notify_path)
        snprintf(notify_path, sizeof notify_path, "%s", path);
    unsetenv(VARIABLE);
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
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

void notify_pass_on(void)
{
    if (notify_path[0] != '\0')
        setenv(VARIABLE, notify_path, 1);
}
