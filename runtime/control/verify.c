/*
 * verify.c: the checking child, and what the master hears from it. Forked by the master, which has one thread.
 */
#include "control/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/packet.h"
#include "base/signals.h"
#include "serve/route.h"

#define ALL_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* Linux 6.3 */
#endif

enum { SAYS_FAULT = -1, SAYS_DONE = -2 };
enum { SAYS_OPENING = 1000000 }; /* and the route's number: should it end the process, the master knows which it was */

struct word {
    int route; /* whose copy comes with it, or one of the above */
    char text[ROUTE_WHY_BYTES];
};

/* -- the child
 * --------------------------------------------------------------------------------------------------------- */

static void say(int channel, int route, int fd, const char *text)
{
    struct word word = {.route = route};
    snprintf(word.text, sizeof word.text, "%s", text);
    if (packet_send(channel, &word, sizeof word, fd) < 0)
        _exit(1); /* the master has gone */
}

static int new_copy(const struct settings_route *route, int number)
{
    char name[200];
    snprintf(name, sizeof name, "%.150s@%d", basename(route->file), number);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int copy_bytes(int to, int from)
{
    char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)got) != got)
            return -1;
    return got < 0 ? -1 : fcntl(to, F_ADD_SEALS, ALL_SEALS);
}

/* Returns the sealed copy of the route's file, −1 with errno. A FIFO would wait for a writer, a device may do anything.
 */
static int copy_object(const struct settings_route *route, int number)
{
    struct stat status;
    int from = open(route->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), to = -1;
    if (from < 0)
        return -1;
    if (fstat(from, &status) == 0 && !S_ISREG(status.st_mode))
        errno = EINVAL;
    else
        to = new_copy(route, number);
    if (to >= 0 && copy_bytes(to, from) < 0) {
        close(to);
        to = -1;
    }
    int error = errno;
    close(from);
    errno = error;
    return to;
}

/* Routes of one file share its copy, as they would share the file. Returns its descriptor, −1 with a line. */
static int find_copy(const struct settings *settings, int number, char why[ROUTE_WHY_BYTES])
{
    const struct settings_route *route = &settings->routes[number];
    for (int i = 0; i < number; i++)
        if (strcmp(settings->routes[i].file, route->file) == 0)
            return settings->routes[i].object_fd;
    int fd = copy_object(route, number);
    if (fd < 0)
        snprintf(why, ROUTE_WHY_BYTES, "%.100s: route %.100s: cannot open the application %.200s: %s", route->where,
                 route->path, route->file, errno == EINVAL ? "it is no regular file" : strerror(errno));
    return fd;
}

static _Noreturn void check(struct settings *settings, int channel)
{
    struct route_table table;
    char why[ROUTE_WHY_BYTES];
    if (account_become(&settings->account) < 0 || route_table_init(&table, settings) < 0) {
        snprintf(why, sizeof why, "cannot check the applications: %s", strerror(errno));
        say(channel, SAYS_FAULT, -1, why);
        _exit(1);
    }
    for (int i = 0; i < (int)settings->route_count; i++) {
        struct settings_route *route = (struct settings_route *)(uintptr_t)&settings->routes[i];
        say(channel, SAYS_OPENING + i, -1, "");
        route->object_fd = find_copy(settings, i, why);
        if (route->object_fd < 0 || route_open(route_by_number(&table, i), why) < 0)
            say(channel, SAYS_FAULT, -1, why);
        else
            say(channel, i, route->object_fd, "");
    }
    say(channel, SAYS_DONE, -1, "");
    _exit(0);
}

/* -- the master
 * -------------------------------------------------------------------------------------------------------- */

int verify_begin(struct verify *verify, const struct config *config)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct settings settings = config->settings;
        int channel = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
        signals_reset_all();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* Nothing of the master's: its channels would seem open while an application is stuck. */
        if (channel > 3)
            (void)close_range(3, (unsigned)channel - 1, 0);
        (void)close_range((unsigned)channel + 1, ~0U, 0);
        check(&settings, channel);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    *verify = (struct verify){.pid = pid, .channel = ends[0], .at = -1,
                              .due_us = clock_now_us() + config->start_timeout_us};
    return 0;
}

static enum verify_result finish(struct verify *verify, bool done)
{
    close(verify->channel);
    verify->channel = -1;
    return done && verify->faults == 0 ? VERIFY_DONE : VERIFY_FAILED;
}

static void report_end(const struct verify *verify, const struct config *config, config_report report)
{
    char text[ROUTE_WHY_BYTES];
    if (verify->at < 0 || verify->at >= (int)config->settings.route_count) {
        report("the check of the applications ended by itself");
        return;
    }
    const struct settings_route *route = &config->settings.routes[verify->at];
    snprintf(text, sizeof text, "%.100s: route %.100s: %.200s %s", route->where, route->path, route->file,
             verify->due_us == 0 || clock_now_us() >= verify->due_us
                 ? "was not opened within start_timeout"
                 : "ends the process that opens it: it is broken");
    report(text);
}

enum verify_result verify_hear(struct verify *verify, struct config *config, config_report report)
{
    struct word word;
    int fd;
    ssize_t got = packet_receive(verify->channel, &word, sizeof word, &fd);
    if (got != sizeof word) {
        report_end(verify, config, report);
        return finish(verify, false);
    }
    if (word.route >= SAYS_OPENING) {
        verify->at = word.route - SAYS_OPENING;
        return VERIFY_MORE;
    }
    if (word.route == SAYS_DONE)
        return finish(verify, true);
    word.text[sizeof word.text - 1] = '\0';
    if (word.route >= 0 && word.route < (int)config->settings.route_count && fd >= 0) {
        config_take_object(config, word.route, fd);
    } else {
        verify->faults++;
        report(word.text);
    }
    return VERIFY_MORE;
}

void verify_end(const struct verify *verify)
{
    kill(verify->pid, SIGKILL);
}

int verify_wait(struct config *config, config_report report)
{
    struct verify verify;
    enum verify_result result;
    int status;
    if (verify_begin(&verify, config) < 0) {
        report("cannot check the applications: fork failed");
        return -1;
    }
    do {
        struct pollfd channel = {.fd = verify.channel, .events = POLLIN};
        if (poll(&channel, 1, clock_ms_of(verify.due_us - clock_now_us())) == 0)
            verify_end(&verify);
        result = verify_hear(&verify, config, report);
    } while (result == VERIFY_MORE);
    while (waitpid(verify.pid, &status, 0) < 0 && errno == EINTR)
        ;
    return result == VERIFY_DONE ? 0 : -1;
}
