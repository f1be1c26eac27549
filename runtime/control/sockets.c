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

static int adopt_for_requests(struct sockets *sockets, int fd, enum listener_protocol protocol)
{
    struct listener *listener = &sockets->listeners[sockets->count++];
    int result = listener_adopt(listener, fd);
    listener->protocol = protocol;
    sockets->inherited[protocol] = true;
    return result;
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
        int fd = SYSTEMD_FIRST_FD + i, result;
        systemd_name(i, name, sizeof name);
        bool is_status = strcmp(name, "status") == 0;
        if (is_status && sockets->status_inherited) {
            report("LISTEN_FDNAMES: two sockets are called status: one is enough");
            return -1;
        }
        if (is_status)
            result = listener_adopt(&sockets->status, fd);
        else
            result = adopt_for_requests(sockets, fd, strcmp(name, "http") == 0 ? LISTENER_HTTP : LISTENER_FASTCGI);
        if (result < 0) {
            report("a descriptor of LISTEN_FDS is no listening socket: check the socket unit");
            return -1;
        }
        sockets->status_inherited = sockets->status_inherited || is_status;
    }
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
    sockets->listeners[sockets->count++] = probe;
    sockets->inherited[LISTENER_FASTCGI] = true;
    return 0;
}

/* The socket of this address and protocol among those that are there, else a new one. */
static int find_or_bind(struct listener *listener, const struct listener *there, int count,
                        const struct address *address, enum listener_protocol protocol,
                        const struct listener_rules *rules, config_report report)
{
    char why[LISTENER_WHY_BYTES];
    for (int i = 0; i < count; i++) {
        if (there[i].fd >= 0 && there[i].protocol == protocol && strcmp(there[i].address.text, address->text) == 0) {
            *listener = there[i];
            return 0;
        }
    }
    if (listener_open(listener, address, rules, why) == 0) {
        listener->protocol = protocol;
        return 0;
    }
    report(why);
    return -1;
}

static int find_or_bind_all(struct sockets *next, const struct sockets *sockets, const struct config *config,
                            enum listener_protocol protocol, config_report report)
{
    const struct config_listeners *wanted = &config->listen[protocol];
    for (int i = 0; i < wanted->count; i++) {
        if (find_or_bind(&next->listeners[next->count], sockets->listeners, sockets->count, &wanted->addresses[i],
                         protocol, &config->socket_rules, report) < 0)
            return -1;
        next->count++;
    }
    return 0;
}

static void take_inherited(struct sockets *next, const struct sockets *sockets, enum listener_protocol protocol)
{
    for (int i = 0; i < sockets->count; i++)
        if (sockets->listeners[i].protocol == protocol)
            next->listeners[next->count++] = sockets->listeners[i];
}

static void warn_of_unused(const struct sockets *sockets, const struct config *config, enum listener_protocol protocol)
{
    const struct config_listeners *wanted = &config->listen[protocol];
    for (int i = 0; i < wanted->count; i++) {
        const char *text = wanted->addresses[i].text;
        bool used = false;
        for (int j = 0; j < sockets->count; j++)
            used = used || (sockets->listeners[j].protocol == protocol &&
                            strcmp(text, sockets->listeners[j].address.text) == 0);
        if (!used)
            log_warning("listen", "%s is not listened on: the sockets for %s are inherited", text,
                        protocol == LISTENER_HTTP ? "HTTP" : "FastCGI");
    }
}

static int change_listeners(struct sockets *next, const struct sockets *sockets, const struct config *config,
                            config_report report)
{
    for (int i = 0; i < LISTENER_PROTOCOLS; i++) {
        enum listener_protocol protocol = (enum listener_protocol)i;
        next->inherited[protocol] = sockets->inherited[protocol];
        if (next->inherited[protocol]) {
            warn_of_unused(sockets, config, protocol);
            take_inherited(next, sockets, protocol);
        } else if (find_or_bind_all(next, sockets, config, protocol, report) < 0) {
            return -1;
        }
    }
    if (next->count > 0)
        return 0;
    report("no listener: add fastcgi = { \"unix:/path\" } to the configuration, or start through spawn-fcgi");
    return -1;
}

int sockets_change(struct sockets *next, const struct sockets *sockets, const struct config *config,
                   config_report report)
{
    *next = (struct sockets){.status.fd = -1};
    next->status_inherited = sockets->status_inherited;
    int result = change_listeners(next, sockets, config, report);
    if (next->status_inherited)
        next->status = sockets->status;
    else if (result == 0 && config->has_status)
        result = find_or_bind(&next->status, &sockets->status, 1, &config->status, sockets->status.protocol,
                              &config->socket_rules, report);
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
    if (result == 0 && !inherited.inherited[LISTENER_FASTCGI])
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

static bool is_reachable(const struct listener *listener)
{
    return !address_is_local(&listener->address) && !address_is_loopback(&listener->address);
}

void sockets_log(const struct sockets *sockets, int backlog)
{
    int most = somaxconn(), effective = backlog < most ? backlog : most;
    for (int i = 0; i < sockets->count; i++) {
        const struct listener *listener = &sockets->listeners[i];
        const char *what = listener->protocol == LISTENER_HTTP ? "for HTTP " : "";
        if (listener->made)
            log_info("listen", "listening %son %s, backlog %d", what, listener->address.text, effective);
        else
            log_info("listen", "listening %son %s, inherited", what, listener->address.text);
        if (is_reachable(listener) && listener->protocol == LISTENER_FASTCGI)
            log_warning("listen",
                        "%s can be reached from other machines, and FastCGI knows no passwords: whoever reaches it "
                        "can send any request (see FCGI_WEB_SERVER_ADDRS in millrace(8))",
                        listener->address.text);
        else if (is_reachable(listener))
            log_warning("listen",
                        "%s can be reached from other machines, and there is no TLS: for a load balancer's "
                        "network",
                        listener->address.text);
    }
    if (sockets->status.fd >= 0)
        log_info("listen", "status on %s%s", sockets->status.address.text, sockets->status.made ? "" : ", inherited");
    if (sockets->status.fd >= 0 && is_reachable(&sockets->status))
        log_warning("listen", "the status on %s can be read from other machines", sockets->status.address.text);
}
