/*
 * packet.c: messages with descriptors (SCM_RIGHTS). Any process.
 */
#include "base/packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int packet_send(int socket, const void *message, size_t length, int fd)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)message, .iov_len = length};
    union control control = {.bytes = {0}};
    struct msghdr packet = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        packet.msg_control = control.bytes;
        packet.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &packet, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length ? 0 : -1;
}

ssize_t packet_receive(int socket, void *message, size_t room, int *fd)
{
    struct iovec iov = {.iov_base = message, .iov_len = room};
    union control control = {.bytes = {0}};
    struct msghdr packet = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    *fd = -1;
    do
        got = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return got;
}
