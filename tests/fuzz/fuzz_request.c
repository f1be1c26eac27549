/*
 * fuzz_request.c: libFuzzer entry for a whole connection: records in any cut, several requests, a handler that reads
 * its body in several ways, the answers.
 *
 * The real connection, lane, transport and streams run; the socket's calls are replaced when the program is linked:
 * recv gives the input in parts, send collects what is answered. Every answer must be well-formed records, each
 * request's STDOUT ended once, directly before its END_REQUEST.
 *
 * The first byte says how the input is cut, the second what the handler does.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "serve/connection.h"
#include "serve/request.h"
#include "serve/worker.h"

#define TURNS_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
ssize_t __wrap_recv(int fd, void *to, size_t room, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

/* -- the socket -------------------------------------------------------------------------------------------------------
 */

static struct {
    struct span input;
    size_t part;
    bool pause; /* every other recv finds nothing */
    bool paused;
    struct record_parser parser; /* of what is answered */
    uint16_t ended_id;           /* the STDOUT stream that has just ended, 0: none */
} wire;

ssize_t __wrap_recv(int fd, void *to, size_t room, int flags)
{
    (void)fd, (void)flags;
    wire.paused = wire.pause && !wire.paused && wire.input.length > 0;
    if (wire.paused) {
        errno = EAGAIN;
        return -1;
    }
    size_t length = wire.part < wire.input.length ? wire.part : wire.input.length;
    length = length < room ? length : room;
    memcpy(to, span_take(&wire.input, length).at, length);
    return (ssize_t)length;
}

static void check_piece(const struct record_piece *piece)
{
    if (piece->type == RECORD_END_REQUEST && piece->ends_record) {
        CHECK(piece->content_length == 8 && piece->id != 0);
        wire.ended_id = 0;
    } else if (piece->type == RECORD_STDOUT || piece->type == RECORD_STDERR) {
        CHECK(piece->id != 0);
        CHECK(wire.ended_id == 0); /* nothing comes between the end of STDOUT and END_REQUEST */
        if (piece->type == RECORD_STDOUT && piece->content_length == 0)
            wire.ended_id = piece->id;
    } else {
        CHECK(piece->type == RECORD_END_REQUEST || piece->id == 0);
        CHECK(piece->type == RECORD_END_REQUEST || piece->type == RECORD_GET_VALUES_RESULT ||
              piece->type == RECORD_UNKNOWN_TYPE);
    }
}

ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags)
{
    struct span output = span_of(bytes, length);
    struct record_piece piece;
    enum record_result result;
    (void)fd, (void)flags;
    while ((result = record_parse(&wire.parser, &output, &piece)) == RECORD_PIECE)
        check_piece(&piece);
    CHECK(result == RECORD_MORE);
    return (ssize_t)length;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t total = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        total += __wrap_send(fd, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len, flags);
    return total;
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

/* -- the worker around it
 * ----------------------------------------------------------------------------------------------- */

static const struct mr_app app = {.abi = MR_ABI, .name = "fuzz", .handle = handle};
static const struct settings_route settings_route = {.path = "/", .file = "", .where = "", .max_body_bytes = 100000};
static const struct settings settings = {.workers = 1,
                                         .lanes = 1,
                                         .threads = 1,
                                         .debug = true,
                                         .max_params_bytes = 8192,
                                         .routes = &settings_route,
                                         .route_count = 1};
static struct worker worker = {.settings = &settings, .number = 1, .max_connections = 10, .max_requests = 1};
static struct inbox inboxes[2], handover;
static struct shared board, ledger;
static struct lane lane;

static void start_worker(void)
{
    CHECK(route_table_init(&worker.routes, &settings) == 0 && inbox_init(&inboxes[0]) == 0 && inbox_init(&handover) == 0);
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

/* Small parts, or such that fill the input buffer to the byte and nearly so. */
static size_t part_of(uint8_t choice, size_t size)
{
    if (choice == 0)
        return size;
    return choice < 0x70 ? choice : REQUEST_INPUT_BYTES - 0x78 + choice;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    if (worker.lanes == NULL)
        start_worker();
    memset(&wire, 0, sizeof wire);
    wire.input = span_of(data + 2, size - 2);
    wire.part = part_of(data[0] & 0x7f, size);
    wire.pause = data[0] & 0x80;
    behaviour = data[1];
    struct connection *connection = connection_new(&lane, -1, span_of("c", 1));
    CHECK(connection != NULL);
    /* As connection_arrive does, without an epoll set: the events come from this loop. */
    lane_set_timer(&lane, connection, LANE_TIMER_IDLE);
    for (int turn = 0; connection->state != CONNECTION_CLOSED; turn++) {
        CHECK(turn < TURNS_MAX);
        /* An event may come before what is ready has its turn. */
        struct connection *ready = wire.pause && turn % 3 == 2 ? NULL : next_ready();
        CHECK(ready != NULL ? connection_attend(ready) : connection_on_event(connection, EPOLLIN));
    }
    free_buried_connection(connection);
    CHECK(atomic_load(&worker.slot->connections) == 0);
    return 0;
}
