/*
 * config.h: the configuration as read.
 */
#ifndef CONTROL_CONFIG_H
#define CONTROL_CONFIG_H

#include <stddef.h>

#include "base/address.h"
#include "base/listener.h"
#include "serve/settings.h"

#define CONFIG_LISTENERS_MAX 16 /* of each protocol */

struct config {
    struct settings settings;
    struct config_listeners {
        struct address addresses[CONFIG_LISTENERS_MAX];
        int count;
    } listen[LISTENER_PROTOCOLS];
    struct listener_rules socket_rules;
    struct address status;
    bool has_status;
    const char *log, *access_log, *pid_file; /* NULL: none */
    int64_t start_timeout_us, stop_timeout_us;
    void *parsed; /* owns the texts */
};

/* Is told of each fault: one line, `file:line: what`, without its end. */
typedef void (*config_report)(const char *line);

/* Reads and checks the file. Looks up users and groups. Returns 0, or −1 when there was a fault. Texts in `config` live until
 * config_fini, which also closes the objects. */
int config_read(struct config *config, const char *path, config_report report) __attribute__((warn_unused_result));
void config_fini(struct config *config);

/* Takes the private copy of a route's application. */
void config_take_object(struct config *config, int route, int fd);

#endif
