/*
 * load_url.h: a URL, and the bytes of the request for it.
 */
#ifndef LOAD_LOAD_URL_H
#define LOAD_LOAD_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/check.h"

struct load_options;

struct load_url {
    char host[256]; /* as getaddrinfo takes it: without brackets */
    char port[6];
    char authority[264]; /* as Host says it */
    const char *target;  /* borrowed from the URL; "" when it is `/` */
    size_t target_length;
};

/* Returns NULL, or why the text is no URL of HTTP (static text). A fragment is left out. */
const char *load_url_parse(struct load_url *url, const char *text) MUST_CHECK;

/* Blocks while a name is looked up. Returns NULL, or why there is no address (static text). */
const char *load_url_resolve(const struct load_url *url, struct sockaddr_storage *address, socklen_t *length) MUST_CHECK;

/* Whether the text is `Name: value` and can stand in a request. */
bool load_url_is_field(const char *text);

/* Returns the request, ended by a NUL that does not belong to it. Owned by the caller. */
char *load_url_request(const struct load_url *url, const struct load_options *options);

#endif
