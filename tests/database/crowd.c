/* crowd.c: one epoll set, connections that carry one request each, and a note for each request that writes. */
#include "crowd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow/deadline.h"
#include "postgres.h"
#include "reply.h"
#include "soak/chance.h"
#include "suite.h"

enum { CROWD_ANSWER_MAX = 2048, CROWD_PATIENCE_MS = 30000, CROWD_GIVE_UP_MS = 25 };

/* What an application's kind of query is answered with. */
struct crowd_kind {
    const char *name;
    unsigned weight;
    const char *sqlstate; /* NULL: 200 */
    bool writes;
    unsigned given_up; /* every so manieth is given up midway; 0: none */
    long count;
};

static struct crowd_kind crowd_kinds[] = {
    {.name = "fast", .weight = 710, .given_up = 200},
    {.name = "chain", .weight = 60, .given_up = 50},
    {.name = "slow", .weight = 10, .given_up = 2},
    {.name = "divide", .weight = 40, .sqlstate = "22012"},
    {.name = "cast", .weight = 30, .sqlstate = "22P02"},
    {.name = "clash", .weight = 30, .sqlstate = "23505", .writes = true},
    {.name = "insert", .weight = 60, .writes = true, .given_up = 20},
    {.name = "plain", .weight = 60, .writes = true, .given_up = 20},
};

/* What is known of a row with a request's number as its token. */
enum crowd_row { CROWD_NO_ROW, CROWD_ONE_ROW, CROWD_PERHAPS_A_ROW, CROWD_ROW_SEEN = 4 };

struct crowd_member {
    int fd;
    const struct crowd_kind *kind; /* of the request that it carries; NULL: none */
    long number;
    int64_t sent_ms, give_up_ms; /* 0: never */
    size_t got;
    char answer[CROWD_ANSWER_MAX + 1];
};

static struct {
    const char *address;
    uint64_t seed;
    int epoll_fd;
    long limit, outstanding, giving_up;
    bool often_away;
    unsigned char *rows; /* enum crowd_row of each request */
    struct crowd_counts counts;
    struct crowd_member members[CROWD_CONNECTIONS];
} crowd = {.epoll_fd = -1};

#define CROWD_CHECK(condition, member, format, ...)                                                                    \
    SUITE_CHECK(condition, "request %ld (%s) after %d ms: " format, (member)->number, (member)->kind->name,            \
                (int)(deadline_now_ms() - (member)->sent_ms), __VA_ARGS__)

void crowd_init(const char *address, long requests_max, uint64_t seed)
{
    crowd.address = address;
    crowd.seed = seed;
    crowd.limit = requests_max;
    crowd.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    crowd.rows = calloc((size_t)requests_max + 1, sizeof *crowd.rows);
    SUITE_CHECK(crowd.rows && crowd.epoll_fd >= 0, "no memory");
    chance_init(seed);
    for (int i = 0; i < CROWD_CONNECTIONS; i++)
        crowd.members[i].fd = -1;
}

/* -- Connections ------------------------------------------------------------------------------------------------- */

static void crowd_close(struct crowd_member *member)
{
    if (member->fd >= 0)
        close(member->fd);
    member->fd = -1;
}

static void crowd_open(struct crowd_member *member)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = member};
    int yes = 1;

    if (member->fd >= 0)
        return;
    to.sin_port = htons((uint16_t)atoi(strchr(crowd.address, ':') + 1));
    member->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(member->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    SUITE_CHECK(connect(member->fd, (struct sockaddr *)&to, sizeof to) == 0 &&
                    epoll_ctl(crowd.epoll_fd, EPOLL_CTL_ADD, member->fd, &event) == 0,
                "no connection: %s", strerror(errno));
}

void crowd_close_all(void)
{
    for (int i = 0; i < CROWD_CONNECTIONS; i++)
        crowd_close(&crowd.members[i]);
}

/* -- Asking ------------------------------------------------------------------------------------------------------ */

static struct crowd_kind *crowd_choose(void)
{
    size_t sum = 0, number;
    struct crowd_kind *kind = crowd_kinds;

    for (size_t i = 0; i < SUITE_COUNT(crowd_kinds); i++)
        sum += crowd_kinds[i].weight;
    for (number = chance_between(0, sum - 1); number >= kind->weight; kind++)
        number -= kind->weight;
    return kind;
}

static void crowd_ask(struct crowd_member *member)
{
    char request[200];
    int length;
    struct crowd_kind *kind;

    member->number = ++crowd.counts.sent;
    chance_begin(crowd.seed, (uint64_t)member->number);
    kind = crowd_choose();
    kind->count++;
    member->kind = kind;
    member->got = 0;
    member->sent_ms = deadline_now_ms();
    member->give_up_ms = 0;
    if (kind->given_up && chance_one_in(kind->given_up))
        member->give_up_ms = member->sent_ms + (int64_t)chance_between(0, CROWD_GIVE_UP_MS);
    crowd.giving_up += member->give_up_ms > 0;
    crowd.outstanding++;
    crowd_open(member);
    length =
        snprintf(request, sizeof request, "GET /pg_queries?kind=%s&token=t%ld HTTP/1.1\r\nHost: crowd.example\r\n\r\n",
                 kind->name, member->number);
    CROWD_CHECK(send(member->fd, request, (size_t)length, MSG_NOSIGNAL) == length, member, "%s", strerror(errno));
}

/* -- What comes of it -------------------------------------------------------------------------------------------- */

static void crowd_finish(struct crowd_member *member, enum crowd_row row)
{
    crowd.rows[member->number] = (unsigned char)row;
    crowd.giving_up -= member->give_up_ms > 0;
    crowd.outstanding--;
    member->kind = NULL;
    member->give_up_ms = 0;
}

/* A reset: one that is only half closed still waits, over HTTP. */
static void crowd_give_up(struct crowd_member *member)
{
    setsockopt(member->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    crowd_close(member);
    crowd.counts.given_up++;
    crowd_finish(member, member->kind->writes && !member->kind->sqlstate ? CROWD_PERHAPS_A_ROW : CROWD_NO_ROW);
}

static const char *crowd_wanted(const struct crowd_member *member)
{
    static char wanted[100];

    if (member->kind->sqlstate)
        snprintf(wanted, sizeof wanted, "%s t%ld\n", member->kind->sqlstate, member->number);
    else
        snprintf(wanted, sizeof wanted, "%st%ld\n", strcmp(member->kind->name, "chain") == 0 ? "+" : "",
                 member->number);
    return wanted;
}

static void crowd_judge(struct crowd_member *member, const struct reply *reply)
{
    int status = member->kind->sqlstate ? 409 : 200;
    bool writes = member->kind->writes;
    const char *wanted = crowd_wanted(member);

    if (reply->status == 503) {
        CROWD_CHECK(crowd.often_away, member, "status %d", reply->status);
        crowd.counts.away++;
        crowd_finish(member, writes && status == 200 ? CROWD_PERHAPS_A_ROW : CROWD_NO_ROW);
        return;
    }
    CROWD_CHECK(reply->status == status, member, "status %d instead of %d: %.60s", reply->status, status, reply->body);
    CROWD_CHECK(strcmp(reply->body, wanted) == 0, member, "'%.60s' instead of '%s'", reply->body, wanted);
    crowd.counts.right += status == 200;
    crowd.counts.refused += status != 200;
    crowd.counts.inserted += writes && status == 200;
    crowd_finish(member, writes && status == 200 ? CROWD_ONE_ROW : CROWD_NO_ROW);
}

static void crowd_read(struct crowd_member *member)
{
    ssize_t got = recv(member->fd, member->answer + member->got, CROWD_ANSWER_MAX - member->got, MSG_DONTWAIT);
    struct reply reply;
    enum reply_state state;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 && !member->kind) { /* at rest; nothing is lost by that */
        crowd_close(member);
        return;
    }
    SUITE_CHECK(member->kind, "bytes after an answer: '%.*s'", (int)got, member->answer);
    CROWD_CHECK(got > 0, member, "the connection ended: %s", got < 0 ? strerror(errno) : "in order");
    member->got += (size_t)got;
    member->answer[member->got] = '\0';
    state = reply_look(&reply, member->answer, member->got);
    CROWD_CHECK(state != REPLY_WRONG, member, "no answer: '%.100s'", member->answer);
    if (state == REPLY_WHOLE)
        crowd_judge(member, &reply);
}

/* -- All of them ------------------------------------------------------------------------------------------------- */

static void crowd_look_at_times(void)
{
    int64_t now_ms = deadline_now_ms();

    for (int i = 0; i < CROWD_CONNECTIONS; i++) {
        struct crowd_member *member = &crowd.members[i];

        if (member->kind && member->give_up_ms > 0 && member->give_up_ms <= now_ms)
            crowd_give_up(member);
        else if (member->kind)
            CROWD_CHECK(now_ms - member->sent_ms < CROWD_PATIENCE_MS, member, "no answer within %d ms",
                        CROWD_PATIENCE_MS);
    }
}

static void crowd_turn(void)
{
    struct epoll_event events[CROWD_CONNECTIONS];
    int count = epoll_wait(crowd.epoll_fd, events, CROWD_CONNECTIONS, crowd.giving_up > 0 ? 1 : 100);

    for (int i = 0; i < count; i++) {
        struct crowd_member *member = events[i].data.ptr;

        if (member->fd >= 0)
            crowd_read(member);
    }
    if (crowd.giving_up > 0 || count == 0)
        crowd_look_at_times();
}

void crowd_run(long until, bool often_away)
{
    crowd.often_away = often_away;
    do {
        for (int i = 0; i < CROWD_CONNECTIONS && crowd.counts.sent < until; i++) {
            if (!crowd.members[i].kind)
                crowd_ask(&crowd.members[i]);
        }
        crowd_turn();
    } while (crowd.outstanding > 0 || crowd.counts.sent < until);
}

void crowd_open_all(void)
{
    for (int i = 0; i < CROWD_CONNECTIONS; i++)
        crowd_open(&crowd.members[i]);
}

/* -- The table --------------------------------------------------------------------------------------------------- */

static void crowd_check_row(const char *token)
{
    long number = strtol(token + 1, NULL, 10);
    int row;

    SUITE_CHECK(token[0] == 't' && number >= 1 && number <= crowd.limit, "a row of nobody's: '%s'", token);
    row = crowd.rows[number];
    SUITE_CHECK(!(row & CROWD_ROW_SEEN), "request %ld has written twice", number);
    SUITE_CHECK(row != CROWD_NO_ROW, "request %ld was refused, and has written", number);
    crowd.rows[number] |= CROWD_ROW_SEEN;
}

void crowd_check_entries(void)
{
    PGconn *connection = postgres_connect();
    PGresult *rows;

    SUITE_CHECK(connection, "no connection to PostgreSQL");
    rows = PQexec(connection, "SELECT token FROM entry WHERE slot IS NULL OR slot > 0");
    SUITE_CHECK(PQresultStatus(rows) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(rows));
    for (int i = 0; i < PQntuples(rows); i++)
        crowd_check_row(PQgetvalue(rows, i, 0));
    PQclear(rows);
    PQfinish(connection);
    for (long i = 1; i <= crowd.counts.sent; i++)
        SUITE_CHECK(crowd.rows[i] != CROWD_ONE_ROW, "request %ld was answered, and has not written", i);
}

struct crowd_counts crowd_counts(void)
{
    return crowd.counts;
}

void crowd_print(void)
{
    const struct crowd_counts *counts = &crowd.counts;

    printf("# %ld requests: %ld right, %ld refused by the server, %ld given up midway, %ld answered 503; %ld rows\n",
           counts->sent, counts->right, counts->refused, counts->given_up, counts->away, counts->inserted);
    for (size_t i = 0; i < SUITE_COUNT(crowd_kinds); i++)
        printf("#   %8ld %s\n", crowd_kinds[i].count, crowd_kinds[i].name);
}
