/* direct.h: servers of server.h with HTTP listeners as well, and whether they are afterwards as they were at their start. */
#ifndef DIRECT_H
#define DIRECT_H

#include "server.h"

/* As server_start. Listeners: direct_address() and direct_local(). */
struct server *direct_start(const char *options);

/* The one that the cases of a program share, without further options. Connections of earlier cases are closed. */
struct server *direct_shared(void);

const char *direct_address(void); /* TCP, for link_new */
const char *direct_local(void);   /* a unix socket */

/* Closes every connection. The workers of the start still run, have the descriptors that they had then, and answer. */
void direct_check_settled(void);

#endif
