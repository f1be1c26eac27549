/*
 * listener.c: binds, adopts and closes listening sockets. Runs in the master, before there are other threads (it sets
 * the umask for a moment).
 */
#include "base/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

const char *const listener_names[LISTENER_PROTOCOLS] = {"fastcgi", "http"};

static int fail(struct listener *listener, char *why, const char *what, const char *advice)
{
    snprintf(why, LISTENER_WHY_BYTES, "cannot listen on %.160s: %s%s%s", listener->address.text, what,
             advice[0] ? ": " : "", advice);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    return -1;
}

static int fail_errno(struct listener *listener, char *why)
{
    int error = errno;
    const char *advice = "";
    if (error == EADDRINUSE)
        advice = "another server has it";
    else if (error == EACCES)
        advice = "it needs other rights, or a port over 1023";
    return fail(listener, why, strerror(error), advice);
}

/* Returns true when the path is free now; else says why not. */
static bool clear_path(struct listener *listener, char *why)
{
    const char *path = listener->address.socket.local.sun_path;
    struct stat status;
    if (lstat(path, &status) < 0) {
        if (errno == ENOENT)
            return true;
        fail_errno(listener, why);
        return false;
    }
    if (!S_ISSOCK(status.st_mode)) {
        fail(listener, why, "something that is no socket is there", "remove it or choose another path");
        return false;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        fail_errno(listener, why);
        return false;
    }
    int result = connect(probe, &listener->address.socket.any, listener->address.length);
    int error = errno;
    close(probe);
    if (result == 0 || error != ECONNREFUSED) {
        fail(listener, why, "a server answers on it", "stop that one first or choose another path");
        return false;
    }
    if (unlink(path) < 0 && errno != ENOENT) {
        fail_errno(listener, why);
        return false;
    }
    return true;
}

static int bind_local(struct listener *listener, const struct listener_rules *rules, char *why)
{
    const char *path = listener->address.socket.local.sun_path;
    struct stat status;
    if (!clear_path(listener, why))
        return -1;
    mode_t umask_before = umask(0777); /* nobody reaches the socket before its owner and mode are right */
    int result = bind(listener->fd, &listener->address.socket.any, listener->address.length);
    int error = errno;
    umask(umask_before);
    errno = error;
    if (result < 0 || lstat(path, &status) < 0)
        return fail_errno(listener, why);
    listener->made = true;
    listener->device = status.st_dev;
    listener->inode = status.st_ino;
    if (((rules->owner != (uid_t)-1 || rules->group != (gid_t)-1) && lchown(path, rules->owner, rules->group) < 0) ||
        chmod(path, rules->mode) < 0) {
        fail_errno(listener, why);
        unlink(path);
        return -1;
    }
    return 0;
}

static int bind_ip(struct listener *listener, char *why)
{
    int yes = 1;
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener->address.socket.any.sa_family == AF_INET6)
        setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(listener->fd, &listener->address.socket.any, listener->address.length) < 0)
        return fail_errno(listener, why);
    listener->made = true;
    return 0;
}

int listener_open(struct listener *listener, const struct address *address, const struct listener_rules *rules,
                  char why[LISTENER_WHY_BYTES])
{
    *listener = (struct listener){.fd = -1, .address = *address};
    listener->fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail_errno(listener, why);
    if ((address_is_local(address) ? bind_local(listener, rules, why) : bind_ip(listener, why)) < 0)
        return -1;
    if (listen(listener->fd, rules->backlog) < 0) {
        fail_errno(listener, why);
        listener_close(listener);
        return -1;
    }
    return 0;
}

static void describe(struct listener *listener)
{
    struct address *address = &listener->address;
    address->length = sizeof address->socket;
    memset(&address->socket, 0, sizeof address->socket);
    snprintf(address->text, sizeof address->text, "descriptor %d", listener->fd);
    if (getsockname(listener->fd, &address->socket.any, &address->length) < 0)
        return;
    if (address_is_local(address) && address->socket.local.sun_path[0] == '/')
        snprintf(address->text, sizeof address->text, "unix:%s", address->socket.local.sun_path);
}

int listener_adopt(struct listener *listener, int fd)
{
    int listening = 0;
    socklen_t length = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) < 0 || !listening)
        return -1;
    *listener = (struct listener){.fd = fd};
    describe(listener);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void listener_close(struct listener *listener)
{
    struct stat status;
    const char *path = listener->address.socket.local.sun_path;
    if (listener->made && !listener->lent && address_is_local(&listener->address) && lstat(path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlink(path);
    listener->made = false;
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}
