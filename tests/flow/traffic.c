/* traffic.c: one thread a connection, each with requests and times of its own. */
#include "traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "answer.h"
#include "deadline.h"
#include "suite.h"

enum {
    TRAFFIC_CONNECTIONS_MAX = 256,
    TRAFFIC_BODY_MAX = 100 * 1024,
    TRAFFIC_ANSWER_MAX = 200 * 1024,
    TRAFFIC_BIN_MS = 10,
    TRAFFIC_BINS = 100 * 1000, /* 1000 s */
};

struct traffic_page {
    const char *path;
    char body[32768];
    size_t length;
};

struct traffic {
    struct traffic_options options;
    struct sockaddr_in address;
    struct traffic_result result;
    pthread_mutex_t lock; /* of the failures */
    pthread_t threads[TRAFFIC_CONNECTIONS_MAX];
    int thread_count; /* that run */
    atomic_bool stopping;
    atomic_long taken; /* requests that a thread has begun */
    atomic_long right, failed;
    atomic_int bins[TRAFFIC_BINS];
    struct traffic_page pages[TRAFFIC_PAGES];
};

/* One connection: what it sends, what it reads, what has gone wrong. */
struct traffic_client {
    struct traffic *traffic;
    int number, fd;
    unsigned seed;
    const char *fault;
    char fault_text[24];
    size_t got, body_at, body_length;
    char request[TRAFFIC_BODY_MAX + 512];
    char answer[TRAFFIC_ANSWER_MAX];
};

static struct traffic traffic_one;

/* -- One request ------------------------------------------------------------------------------------------------------
 */

static bool traffic_fault(struct traffic_client *client, const char *what)
{
    client->fault = what;
    close(client->fd);
    client->fd = -1;
    return false;
}

static bool traffic_connect(struct traffic_client *client)
{
    struct timeval limit = {.tv_sec = 20};
    int yes = 1;

    if (client->fd >= 0)
        return true;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(client->fd, (struct sockaddr *)&client->traffic->address, sizeof client->traffic->address) < 0)
        return traffic_fault(client, "cannot connect to nginx");
    return true;
}

static bool traffic_send(struct traffic_client *client, size_t length)
{
    size_t sent = 0;

    while (sent < length) {
        ssize_t part = send(client->fd, client->request + sent, length - sent, MSG_NOSIGNAL);

        if (part <= 0)
            return traffic_fault(client, "the connection ended while sending");
        sent += (size_t)part;
    }
    return true;
}

/* Reads the whole answer; nginx gives every one of these a Content-Length. */
static bool traffic_read(struct traffic_client *client)
{
    int status;

    client->got = client->body_at = 0;
    client->body_length = SIZE_MAX;
    while (client->body_at == 0 || client->got < client->body_at + client->body_length) {
        ssize_t part = recv(client->fd, client->answer + client->got, sizeof client->answer - 1 - client->got, 0);
        char *end, *length;

        if (part <= 0)
            return traffic_fault(client, part < 0 && errno == EAGAIN ? "no answer" : "the connection ended");
        client->got += (size_t)part;
        client->answer[client->got] = '\0';
        if (client->body_at > 0 || !(end = strstr(client->answer, "\r\n\r\n")))
            continue;
        client->body_at = (size_t)(end + 4 - client->answer);
        *end = '\0';
        length = strstr(client->answer, "Content-Length: ");
        if (!length)
            return traffic_fault(client, "no Content-Length");
        client->body_length = strtoul(length + 16, NULL, 10);
        if (client->body_length > sizeof client->answer - 1 - client->body_at)
            return traffic_fault(client, "the body is too long");
    }
    if (client->got > client->body_at + client->body_length)
        return traffic_fault(client, "more than the answer");
    if (sscanf(client->answer, "HTTP/1.1 %d", &status) != 1)
        return traffic_fault(client, "no status line");
    if (status != 200) {
        snprintf(client->fault_text, sizeof client->fault_text, "status %d", status);
        client->fault = client->fault_text; /* the connection goes on */
        return false;
    }
    return true;
}

static bool traffic_body_is(struct traffic_client *client, const char *body, size_t length)
{
    if (client->body_length == length && memcmp(client->answer + client->body_at, body, length) == 0)
        return true;
    return traffic_fault(client, "the body is another");
}

static bool traffic_get(struct traffic_client *client, const char *path)
{
    int length = snprintf(client->request, sizeof client->request, "GET %s HTTP/1.1\r\nHost: traffic\r\n\r\n", path);

    return traffic_send(client, (size_t)length) && traffic_read(client);
}

static bool traffic_get_page(struct traffic_client *client, const struct traffic_page *page)
{
    return traffic_get(client, page->path) && traffic_body_is(client, page->body, page->length);
}

static bool traffic_get_token(struct traffic_client *client)
{
    char path[64], line[64];

    snprintf(path, sizeof path, "/env?token=%d.%u", client->number, rand_r(&client->seed));
    snprintf(line, sizeof line, "\nQUERY_STRING=%.40s\n", path + strlen("/env?"));
    if (!traffic_get(client, path))
        return false;
    return strstr(client->answer + client->body_at, line) ? true : traffic_fault(client, "another's variables");
}

static bool traffic_post(struct traffic_client *client)
{
    size_t length = 1 + (size_t)rand_r(&client->seed) % (rand_r(&client->seed) % 8 == 0 ? TRAFFIC_BODY_MAX : 2000);
    int head = snprintf(client->request, sizeof client->request,
                        "POST /echo HTTP/1.1\r\nHost: traffic\r\nContent-Type: application/octet-stream\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        length);
    char *body = client->request + head;

    for (size_t i = 0; i < length; i++)
        body[i] = (char)(rand_r(&client->seed) >> 8);
    return traffic_send(client, (size_t)head + length) && traffic_read(client) && traffic_body_is(client, body, length);
}

/* -- Threads ----------------------------------------------------------------------------------------------------------
 */

static void traffic_note(struct traffic_client *client, int64_t sent_ms, bool post, bool right)
{
    struct traffic *traffic = client->traffic;
    int64_t now_ms = deadline_now_ms(), bin = (now_ms - traffic->result.start_ms) / TRAFFIC_BIN_MS;
    long number;

    if (right) {
        atomic_fetch_add(&traffic->right, 1);
        if (bin < TRAFFIC_BINS)
            atomic_fetch_add(&traffic->bins[bin], 1);
        return;
    }
    pthread_mutex_lock(&traffic->lock);
    number = atomic_fetch_add(&traffic->failed, 1);
    *(post ? &traffic->result.posts_failed : &traffic->result.gets_failed) += 1;
    if (number < TRAFFIC_FAILURES_MAX) {
        struct traffic_failure *failure = &traffic->result.failures[number];

        *failure = (struct traffic_failure){.sent_ms = sent_ms, .failed_ms = now_ms, .post = post};
        snprintf(failure->what, sizeof failure->what, "%s", client->fault);
    }
    pthread_mutex_unlock(&traffic->lock);
}

static bool traffic_one_request(struct traffic_client *client, int kind)
{
    switch (kind) {
    case 0:
    case 1:
        return traffic_post(client);
    case 2:
        return traffic_get_token(client);
    case 3:
        return traffic_get_page(client, &client->traffic->pages[1]);
    case 4:
        return traffic_get_page(client, &client->traffic->pages[2]);
    default:
        return traffic_get_page(client, &client->traffic->pages[0]);
    }
}

static void traffic_add_us(struct timespec *time, long us)
{
    time->tv_nsec += us % 1000000 * 1000;
    time->tv_sec += us / 1000000 + time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

/* Each thread has its share of the rate, at times of its own. */
static void traffic_first_turn(const struct traffic_client *client, struct timespec *next)
{
    const struct traffic_options *options = &client->traffic->options;

    clock_gettime(CLOCK_MONOTONIC, next);
    if (options->rate > 0)
        traffic_add_us(next, 1000000L * client->number / options->rate);
}

/* Returns false when it is over. */
static bool traffic_wait_turn(struct traffic_client *client, struct timespec *next)
{
    const struct traffic_options *options = &client->traffic->options;

    if (atomic_load(&client->traffic->stopping))
        return false;
    if (options->requests > 0 && atomic_fetch_add(&client->traffic->taken, 1) >= options->requests)
        return false;
    if (options->rate > 0) {
        traffic_add_us(next, 1000000L * options->connections / options->rate);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
    }
    return true;
}

static void *traffic_thread(void *argument)
{
    struct traffic_client *client = argument;
    struct timespec next;
    long sent = 0, posts = 0;

    traffic_first_turn(client, &next);
    while (traffic_wait_turn(client, &next)) {
        int kind = rand_r(&client->seed) % 8;
        int64_t sent_ms = deadline_now_ms();
        bool right = traffic_connect(client) && traffic_one_request(client, kind);

        sent++;
        posts += kind < 2;
        traffic_note(client, sent_ms, kind < 2, right);
    }
    pthread_mutex_lock(&client->traffic->lock);
    client->traffic->result.sent += sent;
    client->traffic->result.posts_sent += posts;
    client->traffic->result.gets_sent += sent - posts;
    pthread_mutex_unlock(&client->traffic->lock);
    if (client->fd >= 0)
        close(client->fd);
    free(client);
    return NULL;
}

/* -- The whole --------------------------------------------------------------------------------------------------------
 */

static void traffic_learn_pages(struct traffic *traffic, const struct front *front)
{
    static const char *const paths[] = {"/hello", "/bighello", "/page8k"};
    struct front_answer answer = {0};
    struct link *link = link_new(front->address);

    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        front_ask(&answer, link, paths[i], NULL, 0);
        SUITE_CHECK(answer.status == 200 && answer.body.length <= sizeof traffic->pages[i].body, "%s: status %d",
                    paths[i], answer.status);
        traffic->pages[i].path = paths[i];
        traffic->pages[i].length = answer.body.length;
        memcpy(traffic->pages[i].body, answer.body.data, answer.body.length);
    }
    front_fini(&answer);
    link_free(link);
}

struct traffic *traffic_start(const struct front *front, const struct traffic_options *options)
{
    struct traffic *traffic = &traffic_one;

    if (traffic->thread_count > 0)
        traffic_stop(traffic);
    memset(traffic, 0, sizeof *traffic);
    traffic->options = *options;
    if (traffic->options.connections == 0)
        traffic->options.connections = 16;
    SUITE_CHECK(traffic->options.connections <= TRAFFIC_CONNECTIONS_MAX, "too many connections");
    pthread_mutex_init(&traffic->lock, NULL);
    traffic->address = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, "127.0.0.1", &traffic->address.sin_addr);
    traffic->address.sin_port = htons((uint16_t)atoi(strchr(front->address, ':') + 1));
    traffic_learn_pages(traffic, front);
    traffic->result.start_ms = deadline_now_ms();
    for (int i = 0; i < traffic->options.connections; i++) {
        struct traffic_client *client = calloc(1, sizeof *client);

        SUITE_CHECK(client, "no memory");
        *client = (struct traffic_client){.traffic = traffic, .number = i, .fd = -1, .seed = (unsigned)i * 7919 + 1};
        SUITE_CHECK(pthread_create(&traffic->threads[i], NULL, traffic_thread, client) == 0, "no thread");
        traffic->thread_count++;
    }
    return traffic;
}

const struct traffic_result *traffic_wait(struct traffic *traffic)
{
    while (traffic->thread_count > 0)
        pthread_join(traffic->threads[--traffic->thread_count], NULL);
    traffic->result.right = atomic_load(&traffic->right);
    traffic->result.failed = atomic_load(&traffic->failed);
    traffic->result.end_ms = deadline_now_ms();
    return &traffic->result;
}

const struct traffic_result *traffic_stop(struct traffic *traffic)
{
    atomic_store(&traffic->stopping, true);
    return traffic_wait(traffic);
}

long traffic_right_between(const struct traffic *traffic, int64_t from_ms, int64_t to_ms)
{
    int64_t bin = (from_ms - traffic->result.start_ms) / TRAFFIC_BIN_MS,
            end = (to_ms - traffic->result.start_ms) / TRAFFIC_BIN_MS;
    long sum = 0;

    for (; bin < end && bin < TRAFFIC_BINS; bin++)
        sum += atomic_load(&traffic->bins[bin]);
    return sum;
}

int traffic_longest_gap_ms(const struct traffic *traffic, int64_t from_ms, int64_t to_ms)
{
    int longest_ms = 0, gap_ms = 0;

    for (; from_ms < to_ms; from_ms += TRAFFIC_BIN_MS) {
        gap_ms = traffic_right_between(traffic, from_ms, from_ms + TRAFFIC_BIN_MS) > 0 ? 0 : gap_ms + TRAFFIC_BIN_MS;
        longest_ms = gap_ms > longest_ms ? gap_ms : longest_ms;
    }
    return longest_ms;
}

const char *traffic_describe(const struct traffic_result *result)
{
    static char text[700];
    int64_t took_ms = result->end_ms - result->start_ms + 1;
    int length = snprintf(text, sizeof text, "%ld sent, %ld a second, %ld right, %ld failed (%ld GET, %ld POST)",
                          result->sent, (long)(result->sent * 1000 / took_ms), result->right, result->failed,
                          result->gets_failed, result->posts_failed);

    for (long i = 0; i < result->failed && i < 5; i++) {
        const struct traffic_failure *failure = &result->failures[i];

        length += snprintf(text + length, sizeof text - (size_t)length, "; %s %s after %d ms at %d ms",
                           failure->post ? "POST" : "GET", failure->what, (int)(failure->failed_ms - failure->sent_ms),
                           (int)(failure->failed_ms - result->start_ms));
    }
    return text;
}
