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

int inbox_send(const struct inbox *inbox, int fd, struct span note)
{
    return packet_send(inbox->send_fd, note.at, note.length, fd);
}

int inbox_receive(const struct inbox *inbox, uint8_t room[INBOX_NOTE_BYTES], struct span *note)
{
    int fd, spare = fcntl(inbox->receive_fd, F_DUPFD_CLOEXEC, 0);
    if (spare < 0) /* a message whose descriptor finds no place is lost with it */
        return -1;
    close(spare);
    ssize_t length = packet_receive(inbox->receive_fd, room, INBOX_NOTE_BYTES, &fd);
    if (length < 0)
        return -1;
    *note = span_of(room, (size_t)length);
    if (fd < 0)
        errno = EMFILE; /* the kernel had no descriptor to give: the connection is lost */
    return fd;
}
