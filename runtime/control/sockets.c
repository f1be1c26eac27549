/*
 * sockets.c: collects the listening sockets. Runs in the master at start.
 */
#include "control/sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define SYSTEMD_FIRST_FD 3

/* sd_listen_fds(3): LISTEN_PID names the process that the sockets are for. Returns how many, 0 when there are none. */
static int count_from_systemd(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long number = strtol(count, NULL, 10);
    return number < 0 || number > CONFIG_LISTENERS_MAX ? CONFIG_LISTENERS_MAX + 1 : (int)number;
}

void sockets_close_strangers(const int *keep)
{
    int kept = count_from_systemd();
    unsigned first = SYSTEMD_FIRST_FD + (kept > CONFIG_LISTENERS_MAX ? 0 : (unsigned)kept);
    for (; keep != NULL && *keep >= 0; keep++) {
        if ((unsigned)*keep > first)
            (void)close_range(first, (unsigned)*keep - 1, 0);
        if ((unsigned)*keep >= first)
            first = (unsigned)*keep + 1;
    }
    (void)close_range(first, ~0U, 0);
}

/* The name of systemd's socket `number`, "" when it has none. */
static void systemd_name(int number, char *name, size_t room)
{
    const char *names = getenv("LISTEN_FDNAMES");
    name[0] = '\0';
    for (; names != NULL && number > 0; number--) {
        names = strchr(names, ':');
        names = names == NULL ? NULL : names + 1;
    }
    if (names != NULL)
        snprintf(name, room, "%.*s", (int)strcspn(names, ":"), names);
}

/* Those that are called `status` and `http` are what they are called, all others are for FastCGI. */
static int adopt_from_systemd(struct sockets *sockets, int count, config_report report)
{
    char name[32];
    if (count > CONFIG_LISTENERS_MAX) {
        report("LISTEN_FDS names more sockets than the 16 that are possible");
        return -1;
    }
    for (int i = 0; i < count; i++) {
        systemd_name(i, name, sizeof name);
        bool is_status = strcmp(name, "status") == 0;
        struct listener *listener = is_status ? &sockets->status : &sockets->listeners[sockets->count];
        if (is_status && sockets->status_inherited) {
            report("LISTEN_FDNAMES: two sockets are called status: one is enough");
            return -1;
        }
        if (strcmp(name, "http") == 0) {
            report("LISTEN_FDNAMES: http sockets are not served yet: take them out of the socket unit");
            return -1;
        }
        if (listener_adopt(listener, SYSTEMD_FIRST_FD + i) < 0) {
            report("a descriptor of LISTEN_FDS is no listening socket: check the socket unit");
            return -1;
        }
        if (is_status)
            sockets->status_inherited = true;
        else
            sockets->count++;
    }
    sockets->fastcgi_inherited = sockets->count > 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return 0;
}

/* The FastCGI convention. Descriptor 0 becomes /dev/null, so that nothing that is executed gets the socket. */
static int adopt_descriptor_0(struct sockets *sockets, config_report report)
{
    struct listener probe;
    if (listener_adopt(&probe, STDIN_FILENO) < 0)
        return 0;
    int moved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (moved < 0 || empty < 0 || dup2(empty, STDIN_FILENO) < 0) {
        report("cannot take over descriptor 0: no descriptor is free");
        return -1;
    }
    close(empty);
    probe.fd = moved;
    if (!address_is_local(&probe.address) || probe.address.socket.local.sun_path[0] == '\0')
        snprintf(probe.address.text, sizeof probe.address.text, "descriptor 0");
    sockets->listeners[0] = probe;
    sockets->count = 1;
    sockets->fastcgi_inherited = true;
    return 0;
}

/* The socket of this address among those that are there, else a new one. */
static int find_or_bind(struct listener *listener, const struct listener *there, int count,
                        const struct address *address, const struct listener_rules *rules, config_report report)
{
    char why[LISTENER_WHY_BYTES];
    for (int i = 0; i < count; i++) {
        if (there[i].fd >= 0 && strcmp(there[i].address.text, address->text) == 0) {
            *listener = there[i];
            return 0;
        }
    }
    if (listener_open(listener, address, rules, why) == 0)
        return 0;
    report(why);
    return -1;
}

static int find_or_bind_fastcgi(struct sockets *next, const struct sockets *sockets, const struct config *config,
                                config_report report)
{
    if (config->fastcgi_count == 0) {
        report("no listener: add fastcgi = { \"unix:/path\" } to the configuration, or start through spawn-fcgi");
        return -1;
    }
    for (int i = 0; i < config->fastcgi_count; i++) {
        if (find_or_bind(&next->listeners[i], sockets->listeners, sockets->count, &config->fastcgi[i],
                         &config->socket_rules, report) < 0)
            return -1;
        next->count++;
    }
    return 0;
}

static void warn_of_unused(const struct sockets *sockets, const struct config *config)
{
    for (int i = 0; i < config->fastcgi_count; i++) {
        bool used = false;
        for (int j = 0; j < sockets->count; j++)
            used = used || strcmp(config->fastcgi[i].text, sockets->listeners[j].address.text) == 0;
        if (!used)
            log_warning("listen", "%s is not listened on: the sockets for FastCGI are inherited", config->fastcgi[i].text);
    }
}

int sockets_change(struct sockets *next, const struct sockets *sockets, const struct config *config,
                   config_report report)
{
    *next = (struct sockets){.status.fd = -1};
    next->fastcgi_inherited = sockets->fastcgi_inherited;
    next->status_inherited = sockets->status_inherited;
    int result = 0;
    if (next->fastcgi_inherited) {
        warn_of_unused(sockets, config);
        memcpy(next->listeners, sockets->listeners, sizeof next->listeners);
        next->count = sockets->count;
    } else {
        result = find_or_bind_fastcgi(next, sockets, config, report);
    }
    if (next->status_inherited)
        next->status = sockets->status;
    else if (result == 0 && config->has_status)
        result = find_or_bind(&next->status, &sockets->status, 1, &config->status, &config->socket_rules, report);
    if (result < 0)
        sockets_drop(next, sockets);
    return result;
}

int sockets_open(struct sockets *sockets, const struct config *config, config_report report)
{
    struct sockets inherited = {.status.fd = -1};
    int count = count_from_systemd(), result = 0;
    if (count > 0)
        result = adopt_from_systemd(&inherited, count, report);
    if (result == 0 && !inherited.fastcgi_inherited)
        result = adopt_descriptor_0(&inherited, report);
    return result < 0 ? -1 : sockets_change(sockets, &inherited, config, report);
}

/* -- giving up
 * ---------------------------------------------------------------------------------------------------------- */

static bool shares(const struct sockets *sockets, int fd)
{
    for (int i = 0; i < sockets->count; i++)
        if (sockets->listeners[i].fd == fd)
            return true;
    return sockets->status.fd == fd;
}

/* Workers that still hold a copy of it would let it take in connections that nobody serves. */
static void drop(struct listener *listener, const struct sockets *kept)
{
    if (listener->fd < 0 || shares(kept, listener->fd))
        return;
    shutdown(listener->fd, SHUT_RDWR);
    listener_close(listener);
}

void sockets_drop(struct sockets *dropped, const struct sockets *kept)
{
    for (int i = 0; i < dropped->count; i++)
        drop(&dropped->listeners[i], kept);
    drop(&dropped->status, kept);
    *dropped = (struct sockets){.status.fd = -1};
}

void sockets_close(struct sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++)
        listener_close(&sockets->listeners[i]);
    if (sockets->status.fd >= 0)
        listener_close(&sockets->status);
    *sockets = (struct sockets){.status.fd = -1};
}

void sockets_disown(struct sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++)
        sockets->listeners[i].made = false;
    sockets->status.made = false;
}

void sockets_own(struct sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++)
        sockets->listeners[i].lent = false;
    sockets->status.lent = false;
}

/* -- the log
 * ------------------------------------------------------------------------------------------------------------ */

static int somaxconn(void)
{
    int value = 4096;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &value) != 1)
            value = 4096;
        fclose(file);
    }
    return value;
}

void sockets_log(const struct sockets *sockets, int backlog)
{
    int most = somaxconn(), effective = backlog < most ? backlog : most;
    for (int i = 0; i < sockets->count; i++) {
        const struct listener *listener = &sockets->listeners[i];
        if (listener->made)
            log_info("listen", "listening on %s, backlog %d", listener->address.text, effective);
        else
            log_info("listen", "listening on %s, inherited", listener->address.text);
        if (!address_is_local(&listener->address) && !address_is_loopback(&listener->address))
            log_warning("listen",
                        "%s can be reached from other machines, and FastCGI knows no passwords: whoever reaches it "
                        "can send any request (see FCGI_WEB_SERVER_ADDRS in millrace(8))",
                        listener->address.text);
    }
    if (sockets->status.fd >= 0)
        log_info("listen", "status on %s%s", sockets->status.address.text, sockets->status.made ? "" : ", inherited");
    if (sockets->status.fd >= 0 && !address_is_local(&sockets->status.address) &&
        !address_is_loopback(&sockets->status.address))
        log_warning("listen", "the status on %s can be read from other machines", sockets->status.address.text);
}
