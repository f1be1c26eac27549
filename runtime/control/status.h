#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H
#include <stdio.h>
#include "base/account.h"
#include "base/listener.h"
#include "control/snapshot.h"
struct status_start {
    const struct listener *listener;
    int channel;
    const struct account *account;
    struct snapshot_source source;
};
_Noreturn void status_main(const struct status_start *start);
int status_ask(const struct address *address, const char *path, FILE *to);
#endif
