/*
 * verify.c: the checking child. Forked by the master while it has one thread.
 */
#include "control/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/route.h"

static _Noreturn void check(const struct settings *settings)
{
    struct route_table table;
    char why[ROUTE_WHY_BYTES];
    int faults = 0;
    if (account_become(&settings->account) < 0 || route_table_init(&table, settings) < 0) {
        fprintf(stderr, "millrace: cannot check the applications: %s\n", strerror(errno));
        _exit(1);
    }
    for (size_t i = 0; i < table.count; i++) {
        if (route_open(&table.routes[i], why) < 0) {
            fprintf(stderr, "%s\n", why);
            faults++;
        }
    }
    _exit(faults == 0 ? 0 : 1);
}

int verify_applications(const struct settings *settings)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        check(settings);
    if (pid < 0) {
        fprintf(stderr, "millrace: cannot check the applications: fork: %s\n", strerror(errno));
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "millrace: an application ended the check with signal %d: %s\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
