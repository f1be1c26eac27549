/* detour.c: one thread that polls pairs of sockets. The mode is set by the test's thread and taken up by this one. */
#include "detour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "flow/deadline.h"
#include "flow/server.h"
#include "suite.h"

enum { DETOUR_PAIRS = 256, DETOUR_TURN_MS = 5 };

struct detour_pair {
    int client, server; /* −1: none */
    long left;          /* with DETOUR_CUT: bytes until it is cut */
};

static struct {
    struct sockaddr_un to;
    struct sockaddr_in here;
    int listener;
    atomic_int wanted, mode;
    unsigned chance;
    struct detour_pair pairs[DETOUR_PAIRS];
} detour = {.listener = -1, .chance = 1};

/* -- Pairs
 * ------------------------------------------------------------------------------------------------------------- */

static void detour_drop(struct detour_pair *pair, bool reset)
{
    if (reset)
        setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    close(pair->client);
    if (pair->server >= 0)
        close(pair->server);
    pair->client = pair->server = -1;
}

static void detour_drop_all(void)
{
    for (int i = 0; i < DETOUR_PAIRS; i++) {
        if (detour.pairs[i].client >= 0)
            detour_drop(&detour.pairs[i], true);
    }
}

static long detour_cut_after(void)
{
    detour.chance = detour.chance * 1103515245 + 12345;
    return (detour.chance >> 16) % 2048;
}

static struct detour_pair *detour_free_pair(void)
{
    for (int i = 0; i < DETOUR_PAIRS; i++) {
        if (detour.pairs[i].client < 0)
            return &detour.pairs[i];
    }
    return NULL;
}

/* Whole, since the peers read what they are sent: a query and its rows fit every buffer. */
static bool detour_pass(int from, int to, long *left)
{
    char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (left && (*left -= got) < 0)
        return false;
    return got > 0 && send(to, bytes, (size_t)got, MSG_NOSIGNAL) == got;
}

/* In silence only the client's end is of interest. */
static bool detour_swallow(int from)
{
    char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);

    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* -- New ones
 * ---------------------------------------------------------------------------------------------------------- */

static int detour_reach_server(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&detour.to, sizeof detour.to) == 0)
        return fd;
    close(fd);
    return -1;
}

static void detour_babble(int client)
{
    static const char babble[] = "HTTP/1.1 400 Bad Request\r\n\r\nSELECT nothing FROM here\n";

    send(client, babble, sizeof babble - 1, MSG_NOSIGNAL);
}

static void detour_accept(void)
{
    int client = accept4(detour.listener, NULL, NULL, SOCK_CLOEXEC), mode = atomic_load(&detour.mode);
    struct detour_pair *pair = detour_free_pair();

    if (client >= 0 && !pair)
        close(client);
    if (client < 0 || !pair)
        return;
    *pair = (struct detour_pair){.client = client, .server = -1, .left = detour_cut_after()};
    if (mode == DETOUR_PASS || mode == DETOUR_CUT) {
        pair->server = detour_reach_server();
        if (pair->server < 0)
            detour_drop(pair, true);
    } else if (mode == DETOUR_BABBLE) {
        detour_babble(client);
    } else if (mode == DETOUR_RESET) {
        detour_drop(pair, true);
    }
}

static void detour_listen(void)
{
    int yes = 1;

    if (detour.listener >= 0)
        return;
    detour.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(detour.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(detour.listener, (struct sockaddr *)&detour.here, sizeof detour.here) != 0 ||
        listen(detour.listener, 128) != 0) {
        close(detour.listener);
        detour.listener = -1;
    }
}

/* -- The thread
 * -------------------------------------------------------------------------------------------------------- */

static void detour_take_up(int mode)
{
    if (mode == DETOUR_REFUSE && detour.listener >= 0) {
        close(detour.listener);
        detour.listener = -1;
    } else if (mode != DETOUR_REFUSE) {
        detour_listen();
    }
    for (int i = 0; mode == DETOUR_CUT && i < DETOUR_PAIRS; i++)
        detour.pairs[i].left = detour_cut_after();
    /* Whoever was silent, or spoken to by nobody, would be it for ever. */
    if (mode == DETOUR_REFUSE || mode == DETOUR_RESET || mode == DETOUR_BABBLE ||
        (mode == DETOUR_PASS && atomic_load(&detour.mode) != DETOUR_CUT))
        detour_drop_all();
    atomic_store(&detour.mode, mode);
}

static void detour_serve(struct detour_pair *pair, int mode, short client, short server)
{
    bool lasts = true, silent = pair->server < 0 || (mode != DETOUR_PASS && mode != DETOUR_CUT);

    if (client)
        lasts = silent ? detour_swallow(pair->client) : detour_pass(pair->client, pair->server, NULL);
    if (lasts && server && !silent)
        lasts = detour_pass(pair->server, pair->client, mode == DETOUR_CUT ? &pair->left : NULL);
    if (!lasts)
        detour_drop(pair, mode == DETOUR_CUT);
}

static void detour_turn(void)
{
    struct pollfd polled[2 * DETOUR_PAIRS + 1];
    int mode = atomic_load(&detour.mode);

    for (int i = 0; i < DETOUR_PAIRS; i++) {
        const struct detour_pair *pair = &detour.pairs[i];

        polled[2 * i] = (struct pollfd){.fd = pair->client, .events = POLLIN};
        polled[2 * i + 1] = (struct pollfd){.fd = mode == DETOUR_SWALLOW ? -1 : pair->server, .events = POLLIN};
    }
    polled[2 * DETOUR_PAIRS] = (struct pollfd){.fd = detour.listener, .events = POLLIN};
    if (poll(polled, 2 * DETOUR_PAIRS + 1, DETOUR_TURN_MS) <= 0)
        return;
    for (int i = 0; i < DETOUR_PAIRS; i++) {
        struct detour_pair *pair = &detour.pairs[i];

        if (pair->client >= 0 && (polled[2 * i].revents || polled[2 * i + 1].revents))
            detour_serve(pair, mode, polled[2 * i].revents, polled[2 * i + 1].revents);
    }
    if (polled[2 * DETOUR_PAIRS].revents)
        detour_accept();
}

static void *detour_run(void *argument)
{
    for (;;) {
        int wanted = atomic_load(&detour.wanted);

        if (wanted != atomic_load(&detour.mode))
            detour_take_up(wanted);
        detour_turn();
    }
    return argument;
}

static bool detour_has_mode(void *context)
{
    return atomic_load(&detour.mode) == (int)*(enum detour_mode *)context;
}

int detour_start(const char *socket_path, enum detour_mode mode)
{
    pthread_t thread;

    detour.to.sun_family = AF_UNIX;
    SUITE_CHECK(strlen(socket_path) < sizeof detour.to.sun_path, "socket path too long: %s", socket_path);
    strcpy(detour.to.sun_path, socket_path);
    detour.here = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    detour.here.sin_port = htons((uint16_t)server_free_port());
    for (int i = 0; i < DETOUR_PAIRS; i++)
        detour.pairs[i].client = detour.pairs[i].server = -1;
    atomic_store(&detour.mode, -1);
    atomic_store(&detour.wanted, (int)mode);
    SUITE_CHECK(pthread_create(&thread, NULL, detour_run, NULL) == 0, "no thread");
    pthread_detach(thread);
    detour_set(mode);
    return ntohs(detour.here.sin_port);
}

void detour_set(enum detour_mode mode)
{
    atomic_store(&detour.wanted, (int)mode);
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, detour_has_mode, &mode), "the detour does not change");
}
