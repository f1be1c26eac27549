/* patience.c: see patience.h. Runs on the threads of handlers. */
#include "patience.h"

#include <errno.h>
#include <poll.h>

#include "clock.h"

enum { SLICE_MS = 100 };

struct patience patience_of_request(FCGX_Request *req, int ms)
{
    int left_ms = mr_deadline_ms(req);
    return (struct patience){req, clock_now_us() + (int64_t)(left_ms < ms ? left_ms : ms) * 1000};
}

struct patience patience_of(int ms)
{
    return (struct patience){NULL, clock_now_us() + (int64_t)ms * 1000};
}

int patience_slice_ms(const struct patience *patience)
{
    int left_ms = clock_left_ms(patience->end_us);
    return patience->req != NULL && left_ms > SLICE_MS ? SLICE_MS : left_ms;
}

bool patience_is_gone(const struct patience *patience)
{
    return patience->req != NULL && mr_client_gone(patience->req);
}

enum patience_outcome patience_socket(const struct patience *patience, int socket, short events)
{
    struct pollfd watched = {.fd = socket, .events = events};
    for (;;) {
        int slice_ms = patience_slice_ms(patience);
        int ready = poll(&watched, 1, slice_ms);
        if (ready > 0)
            return PATIENCE_READY;
        if (ready < 0 && errno != EINTR)
            return PATIENCE_LATE;
        if (slice_ms == 0)
            return PATIENCE_LATE;
        if (ready == 0 && patience_is_gone(patience))
            return PATIENCE_GONE;
    }
}

/* A server that cannot send its answer reads no more either: both directions are watched. */
static enum patience_outcome send_all(const struct patience *patience, PGconn *connection)
{
    while (PQflush(connection) == 1) { /* −1: the connection is lost, which is found when its results are asked for */
        enum patience_outcome outcome = patience_socket(patience, PQsocket(connection), POLLIN | POLLOUT);
        if (outcome != PATIENCE_READY)
            return outcome;
        if (PQconsumeInput(connection) == 0)
            break;
    }
    return PATIENCE_READY;
}

static bool is_copy(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

static void keep(PGresult **result, PGresult *next)
{
    if (*result != NULL && PQresultStatus(*result) == PGRES_FATAL_ERROR) {
        PQclear(next);
        return;
    }
    PQclear(*result);
    *result = next;
}

enum patience_outcome patience_result(const struct patience *patience, PGconn *connection, PGresult **result)
{
    enum patience_outcome outcome = send_all(patience, connection);
    *result = NULL;
    while (outcome == PATIENCE_READY) {
        while (outcome == PATIENCE_READY && PQisBusy(connection)) {
            outcome = patience_socket(patience, PQsocket(connection), POLLIN);
            if (outcome == PATIENCE_READY && PQconsumeInput(connection) == 0)
                break; /* PQgetResult has the server's last words, if there are any */
        }
        if (outcome != PATIENCE_READY)
            break;
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            return PATIENCE_READY;
        keep(result, next);
        if (is_copy(next))
            return PATIENCE_READY;
    }
    PQclear(*result);
    *result = NULL;
    return outcome;
}
