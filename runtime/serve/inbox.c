/*
 * inbox.c: descriptors as messages. Runs on lanes.
 */
#include "serve/inbox.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

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
    char byte = 'c';
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union control control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(inbox->send_fd, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int inbox_receive(const struct inbox *inbox)
{
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union control control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int fd = -1;
    while (recvmsg(inbox->receive_fd, &message, MSG_CMSG_CLOEXEC) < 0)
        if (errno != EINTR)
            return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    else
        errno = EMFILE; /* the kernel had no descriptor to give: the connection is lost */
    return fd;
}
