/*
 * packet.h: short messages between processes over a socket pair (SOCK_SEQPACKET), each with a descriptor if need be.
 */
#ifndef BASE_PACKET_H
#define BASE_PACKET_H

#include <stddef.h>
#include <sys/types.h>

/* Sends a copy of the descriptor (−1: none) with the message. Never blocks where the socket does not.
 * Returns 0, −1 with errno. */
int packet_send(int socket, const void *message, size_t length, int fd) __attribute__((warn_unused_result));

/* Receives one message. `*fd` becomes the descriptor that came with it, close-on-exec and owned by the caller, or −1.
 * Returns its length, 0 when the other end is closed, −1 with errno. */
ssize_t packet_receive(int socket, void *message, size_t room, int *fd) __attribute__((warn_unused_result));

#endif
