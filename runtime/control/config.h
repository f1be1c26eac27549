/*
 * config.h: the configuration as read.
 */
#ifndef CONTROL_CONFIG_H
#define CONTROL_CONFIG_H

#include <stddef.h>

#include "base/address.h"
#include "base/listener.h"
#include "serve/settings.h"

#define CONFIG_LISTENERS_MAX 16

struct config {
    struct settings settings;
    struct address fastcgi[CONFIG_LISTENERS_MAX];
    int fastcgi_count;
    struct listener_rules socket_rules;
    const char *log, *pid_file; /* NULL: none */
    int64_t stop_timeout_us;
    void *parsed; /* owns the texts */
};

/* Reads and checks the file; prints one line a fault (`file:line: what`) to standard error. Looks up users and groups.
 * Returns 0, or −1 when there was a fault. Texts in `config` live until config_fini. */
int config_read(struct config *config, const char *path) __attribute__((warn_unused_result));
void config_fini(struct config *config);

#endif
