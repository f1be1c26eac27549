/*
 * linger.c: reads away what nobody wants. Runs on lanes.
 */
#include "serve/linger.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "serve/connection.h"
#include "serve/worker.h"

#define TIMES_MAX    10 /* of a second each, which is lane.c's to say */
#define BYTES_MAX    (32u << 20)
#define READS_A_TURN 16

void linger_begin(struct connection *connection)
{
    connection->state = CONNECTION_LINGERING;
    lane_set_timer(connection->lane, connection, LANE_TIMER_LINGER);
    connection->more = true;
    lane_make_ready(connection->lane, connection);
}

void linger_on(struct connection *connection)
{
    struct lingering *lingering = &connection->lingering;
    char unwanted[4096];
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t got = recv(connection->fd, unwanted, sizeof unwanted, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return; /* the next edge, or the time limit, goes on */
        if (got <= 0) {
            connection_close(connection);
            return;
        }
        lingering->heard = true;
        lingering->bytes += (uint32_t)got;
    }
    if (lingering->bytes > BYTES_MAX)
        connection_close(connection);
    else
        lane_make_ready(connection->lane, connection);
}

static bool has_unread_answer(const struct connection *connection)
{
    int unread = 0;
    return ioctl(connection->fd, SIOCOUTQ, &unread) == 0 && unread > 1; /* 1: the end itself */
}

bool linger_goes_on(struct connection *connection)
{
    struct lingering *lingering = &connection->lingering;
    if (lane_draining(connection->lane) == WORKER_ENDS || lingering->times == TIMES_MAX ||
        (!lingering->heard && !has_unread_answer(connection)))
        return false;
    lingering->times++;
    lingering->heard = false;
    lane_set_timer(connection->lane, connection, LANE_TIMER_LINGER);
    return true;
}
