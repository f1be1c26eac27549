/*
 * detour.h: a way to a unix socket through a TCP port of its own, on a thread, that can be made to fail: what a
 * network, a firewall or a broken server does to whoever connects.
 */
#ifndef DETOUR_H
#define DETOUR_H

enum detour_mode {
    DETOUR_PASS,    /* bytes go both ways */
    DETOUR_SWALLOW, /* connections are taken, nothing comes back; those that exist fall silent as well */
    DETOUR_REFUSE,  /* nobody listens; those that exist are reset */
    DETOUR_RESET,   /* taken and reset at once; those that exist, too */
    DETOUR_CUT,     /* as PASS, but each connection is reset within the next 2 KiB of what the server sends it */
    DETOUR_BABBLE,  /* answered by something that is no PostgreSQL; those that exist are reset */
};

/* Starts it; it lasts as long as the program. Returns its port on 127.0.0.1. */
int detour_start(const char *socket_path, enum detour_mode mode);

/* Returns when that is how things are. */
void detour_set(enum detour_mode mode);

#endif
