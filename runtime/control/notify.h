/*
 * notify.h: tells systemd how the service is doing. Source: sd_notify(3), which describes the protocol as stable.
 */
#ifndef CONTROL_NOTIFY_H
#define CONTROL_NOTIFY_H

/* Takes NOTIFY_SOCKET out of the environment: nothing that a handler executes shall speak for the server. */
void notify_init(void);

/* Sends assignments such as "READY=1", one a line. Does nothing when nobody asked for them.
 * Blocks: a second, where the manager does not read. */
void notify_send(const char *state);

/* Puts NOTIFY_SOCKET back, for a program that takes the server over. */
void notify_pass_on(void);

#endif
