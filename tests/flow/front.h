/*
 * front.h: a real nginx in front of a server of server.h, with kept connections and the parameters that are shipped
 * (nginx-conf/millrace.fastcgi), and an HTTP/1.1 client of its own. What goes wrong fails the case that runs.
 */
#ifndef FRONT_H
#define FRONT_H

#include <stddef.h>

#include "bytes.h"
#include "link.h"
#include "server.h"

struct front {
    pid_t pid;        /* nginx's master */
    char address[32]; /* for link_new */
};

/* Starts nginx before the server; a path is passed as it is. What begins with /unbuffered/ is passed without that part, and
 * its answer without waiting for its end. It ends with the program, or when another is started. */
struct front *front_start(const struct server *server);

/* An answer, its body without chunks. The same struct may be used again. */
struct front_answer {
    int status;
    struct bytes head, body;
};
void front_fini(struct front_answer *answer);

/* Sends a request, GET without a body and POST with one, and reads the answer. The connection stays open. */
void front_ask(struct front_answer *answer, struct link *link, const char *path, const void *body, size_t length);

/* The first half of front_ask. `headers` are more header lines, each with its CR LF. */
void front_send(struct link *link, const char *path, const char *headers, const void *body, size_t length);
void front_read(struct front_answer *answer, struct link *link);

/* Lines of nginx's error log that contain the text. */
int front_log_count(const struct server *server, const char *text);

#endif
