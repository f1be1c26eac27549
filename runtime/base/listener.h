/*
 * listener.h: a listening socket and, for a unix socket, the file that belongs to it.
 */
#ifndef BASE_LISTENER_H
#define BASE_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/address.h"

struct listener_rules {
    mode_t mode; /* of a unix socket's file */
    uid_t owner; /* (uid_t)-1: as created */
    gid_t group; /* (gid_t)-1: as created */
    int backlog;
};

enum listener_protocol { LISTENER_FASTCGI, LISTENER_HTTP, LISTENER_PROTOCOLS };

/* As options and systemd's sockets are called. */
extern const char *const listener_names[LISTENER_PROTOCOLS];

struct listener {
    int fd;
    enum listener_protocol protocol;
    struct address address;
    bool made;   /* bound by us: the file of a unix socket is ours to remove */
    bool lent;   /* and still the concern of the process that has handed it on */
    dev_t device; /* of the file bound, to remove only that one */
    ino_t inode;
};

#define LISTENER_WHY_BYTES 256

/* Binds and listens; a unix socket's mode and owner are set before it listens. A file at the path is replaced only
 * when it is a socket that nobody answers on. Blocks no longer than a connect to a local socket.
 * Returns 0, or −1 with one line in `why`. */
int listener_open(struct listener *listener, const struct address *address, const struct listener_rules *rules,
                  char why[LISTENER_WHY_BYTES]) __attribute__((warn_unused_result));

/* Takes a socket that listens already. Returns 0, −1 when `fd` is none. */
int listener_adopt(struct listener *listener, int fd) __attribute__((warn_unused_result));

/* Closes, and removes the socket's file when it is the one that was bound here. */
void listener_close(struct listener *listener);

#endif
