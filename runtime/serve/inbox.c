/*
 * inbox.c: descriptors as messages. Runs on lanes.
 */
#include "serve/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"

int inbox_init(struct inbox *inbox)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    inbox->receive_fd = ends[0];
    inbox->send_fd = ends[1];
    return 0;
}

void inbox_fini(struct inbox *inbox)
{
    close(inbox->receive_fd);
    close(inbox->send_fd);
    inbox->receive_fd = inbox->send_fd = -1;
}

int inbox_send(const struct inbox *inbox, int fd)
{
    return packet_send(inbox->send_fd, "c", 1, fd);
}

int inbox_receive(const struct inbox *inbox)
{
    char byte;
    int fd, spare = fcntl(inbox->receive_fd, F_DUPFD_CLOEXEC, 0);
    if (spare < 0) /* a message whose descriptor finds no place is lost with it */
        return -1;
    close(spare);
    if (packet_receive(inbox->receive_fd, &byte, 1, &fd) < 0)
        return -1;
    if (fd < 0)
        errno = EMFILE; /* the kernel had no descriptor to give: the connection is lost */
    return fd;
}
