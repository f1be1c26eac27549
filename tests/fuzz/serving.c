/* serving.c: the worker around a fuzzed connection, and what its handler does. */
#include "serving.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/check.h"
#include "serve/connection.h"
#include "serve/request.h"
#include "serve/worker.h"

#define TURNS_MAX 100000

ssize_t __wrap_recv(int fd, void *to, size_t room, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *length);
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *length);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

/* -- the socket -------------------------------------------------------------------------------------------------------
 */

static struct {
    struct serving serving;
    bool paused;
} wire;

ssize_t __wrap_recv(int fd, void *to, size_t room, int flags)
{
    struct span *input = &wire.serving.input;
    (void)fd, (void)flags;
    wire.paused = wire.serving.pause && !wire.paused && input->length > 0;
    if (wire.paused) {
        errno = EAGAIN;
        return -1;
    }
    size_t length = wire.serving.part < input->length ? wire.serving.part : input->length;
    length = length < room ? length : room;
    if (length > 0)
        memcpy(to, span_take(input, length).at, length);
    return (ssize_t)length;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags)
{
    (void)fd, (void)flags;
    wire.serving.on_sent(span_of(bytes, length));
    return (ssize_t)length;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t total = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        total += __wrap_send(fd, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len, flags);
    return total;
}

int __wrap_getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
    (void)fd;
    *length = sizeof wire.serving.peer;
    memcpy(address, &wire.serving.peer, sizeof wire.serving.peer);
    return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
    return __wrap_getpeername(fd, address, length);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    (void)count, (void)timeout;
    fds->revents = fds->events; /* whoever waits finds what there is */
    return fds->events != 0;
}

/* -- the handler ------------------------------------------------------------------------------------------------------
 */

static uint8_t behaviour;

/* Reads ahead of what the handler reads, which must not see a difference. */
static void look(FCGX_Request *req)
{
    if (behaviour & 4)
        mr_client_gone(req);
}

static void read_body(FCGX_Request *req)
{
    char piece[1000];
    if (behaviour & 1)
        while (FCGX_GetChar(req->in) != EOF)
            ;
    else if (behaviour & 2)
        while (FCGX_GetStr(piece, sizeof piece, req->in) == (int)sizeof piece)
            look(req);
    else if (behaviour & 4 && FCGX_GetChar(req->in) != EOF)
        FCGX_UnGetChar('u', req->in);
}

static int handle(FCGX_Request *req)
{
    static const char filling[5000] = "filling";
    if (wire.serving.on_call != NULL)
        wire.serving.on_call(req);
    if (behaviour & 64)
        return 3;
    look(req);
    if (!(behaviour & 8))
        read_body(req);
    look(req);
    if (behaviour & 16)
        FCGX_PutStr(filling, sizeof filling, req->err);
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    for (int i = 0; i < (behaviour & 32 ? 40 : 1); i++)
        FCGX_PutStr(filling, sizeof filling, req->out);
    if (behaviour & 128)
        FCGX_FFlush(req->out);
    if (behaviour & 8)
        read_body(req);
    FCGX_PutStr(filling, sizeof filling, req->err);
    return 0;
}

/* -- the worker around it ---------------------------------------------------------------------------------------------
 */

static const struct mr_app app = {.abi = MR_ABI, .name = "fuzz", .handle = handle};
static const struct settings_route settings_route = {.path = "/", .file = "", .where = "", .max_body_bytes = 100000};
static const struct settings settings = {.workers = 1,
                                         .lanes = 1,
                                         .threads = 1,
                                         .debug = true,
                                         .max_params_bytes = 8192,
                                         .forwarded_from = {.unix_sockets = true},
                                         .proxy_protocol_from = {.count = 1}, /* ::/0 */
                                         .routes = &settings_route,
                                         .route_count = 1};
static struct worker worker = {.settings = &settings, .number = 1, .max_connections = 10, .max_requests = 1};
static struct inbox inboxes[2], handover;
static struct shared board, ledger;
static struct lane lane;

static void start_worker(void)
{
    CHECK(route_table_init(&worker.routes, &settings) == 0 && inbox_init(&inboxes[0]) == 0 &&
          inbox_init(&handover) == 0);
    CHECK(scoreboard_new(&board, &settings, 1) == 0 && ledger_new(&ledger) == 0);
    worker.routes.routes[0].app = &app;
    worker.start = (struct worker_start){
        .settings = &settings, .board = board.at, .ledger = ledger.at, .inboxes = inboxes, .handover = &handover};
    worker.slot = scoreboard_slot(board.at, 0);
    atomic_store(&worker.access.fd, -1);
    worker.limits = (struct limits){.worker = &worker, .statm_fd = -1};
    worker.lanes = &lane;
    CHECK(lane_init(&lane, &worker, 0) == 0);
}

static struct connection *next_ready(void)
{
    if (list_is_empty(&lane.ready))
        return NULL;
    struct connection *connection = LIST_ELEMENT(lane.ready.next, struct connection, ready);
    list_remove(&connection->ready);
    return connection;
}

static void free_buried_connection(struct connection *connection)
{
    CHECK(connection->state == CONNECTION_CLOSED);
    list_remove(&connection->timer);
    connection_free(connection);
}

size_t serving_part(uint8_t choice, size_t size)
{
    if (choice == 0)
        return size;
    return choice < 0x70 ? choice : REQUEST_INPUT_BYTES - 0x78 + choice;
}

void serving_run(const struct serving *serving)
{
    if (worker.lanes == NULL)
        start_worker();
    wire.serving = *serving;
    wire.paused = false;
    behaviour = serving->behaviour;
    struct connection *connection = connection_new(&lane, -1, span_of(&serving->letter, 1));
    CHECK(connection != NULL);
    /* As connection_arrive does, without an epoll set: the events come from this loop. */
    lane_set_timer(&lane, connection, LANE_TIMER_IDLE);
    for (int turn = 0; connection->state != CONNECTION_CLOSED; turn++) {
        CHECK(turn < TURNS_MAX);
        /* An event may come before what is ready has its turn. */
        struct connection *ready = serving->pause && turn % 3 == 2 ? NULL : next_ready();
        CHECK(ready != NULL ? connection_attend(ready) : connection_on_event(connection, EPOLLIN));
    }
    free_buried_connection(connection);
    CHECK(atomic_load(&worker.slot->connections) == 0);
}
