/*
 * fortune.c: one fortune, chosen uniformly from all records of all files, read from the open file for each request.
 *
 * Options: `files`, paths separated by blanks or colons. The places of the records are known from the start; a file that
 * is replaced or written to is read again, whole, within a second. Nothing of an answer is kept.
 */
#include <millrace.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "fortune/collection.h"

#define DEFAULT_FILES                                                                                                  \
    "/usr/share/games/fortunes/fortunes /usr/share/games/fortunes/literature /usr/share/games/fortunes/riddles"
#define CHECK_MS        200
#define WRITTEN_MS      1000 /* how long a request waits for a file that is being written */
#define WRITTEN_LOOK_MS 20
#define PIECE_BYTES     16384

static const char head[] = "Content-Type: text/html; charset=utf-8\r\n"
                           "Cache-Control: no-store\r\n"
                           "X-Content-Type-Options: nosniff\r\n\r\n"
                           "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Fortune</title></head>\n"
                           "<body>\n<pre>\n"; /* HTML leaves out the first line feed behind <pre> */
static const char foot[] = "</pre>\n</body>\n</html>\n";
static const char none[] = "Status: 503 Service Unavailable\r\n"
                           "Content-Type: text/html; charset=utf-8\r\n"
                           "Cache-Control: no-store\r\n"
                           "Retry-After: 1\r\n\r\n"
                           "<!DOCTYPE html>\n<title>No fortune</title>\n<p>There is no fortune to tell at the moment.</p>\n";

struct fortune {
    char *text; /* of the option, cut into paths */
    char *paths[COLLECTION_FILES_MAX];
    int path_count;
    pthread_mutex_t lock; /* guards what follows */
    struct collection *collection;
    int64_t checked_ms;
    bool reading; /* one thread reads the files anew, the others go on with the old ones */
};

/* -- the collection at hand ------------------------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void log_faults(const struct fortune *fortune, const struct collection *collection, const struct mr_route *route,
                       const FCGX_Request *req)
{
    for (int i = 0; i < collection->file_count; i++) {
        const char *fault = collection->files[i].fault;
        if (fault != NULL && route != NULL)
            mr_route_log(route, "%s: %s", fortune->paths[i], fault);
        else if (fault != NULL)
            mr_log(req, "%s: %s", fortune->paths[i], fault);
    }
}

static void release(struct fortune *fortune, struct collection *collection)
{
    pthread_mutex_lock(&fortune->lock);
    bool last = --collection->references == 0;
    pthread_mutex_unlock(&fortune->lock);
    if (last)
        collection_free(collection);
}

static void replace(struct fortune *fortune, struct collection *newer)
{
    pthread_mutex_lock(&fortune->lock);
    struct collection *older = fortune->collection;
    if (newer != NULL)
        fortune->collection = newer;
    fortune->reading = false;
    pthread_mutex_unlock(&fortune->lock);
    if (newer != NULL)
        release(fortune, older);
}

/* Reads the files anew when they are due for a look and have changed. The caller does not hold the lock. */
static void refresh(struct fortune *fortune, const FCGX_Request *req, bool at_once)
{
    pthread_mutex_lock(&fortune->lock);
    bool look = !fortune->reading && (at_once || now_ms() - fortune->checked_ms >= CHECK_MS);
    struct collection *current = fortune->collection;
    if (look) {
        fortune->reading = true;
        fortune->checked_ms = now_ms();
        current->references++;
    }
    pthread_mutex_unlock(&fortune->lock);
    if (!look)
        return;
    struct collection *newer = NULL;
    if (collection_is_old(current, fortune->paths)) {
        newer = collection_new(fortune->paths, fortune->path_count);
        if (newer != NULL) {
            mr_log(req, "files have changed: %llu records now", (unsigned long long)newer->count);
            log_faults(fortune, newer, NULL, req);
        }
    }
    replace(fortune, newer);
    release(fortune, current);
}

static struct collection *acquire(struct fortune *fortune)
{
    pthread_mutex_lock(&fortune->lock);
    struct collection *collection = fortune->collection;
    collection->references++;
    pthread_mutex_unlock(&fortune->lock);
    return collection;
}

/* -- choosing ------------------------------------------------------------------------------------------------------- */

/* SplitMix64, one state a thread, seeded by the kernel: no two threads or workers tell the same fortunes in step. */
static uint64_t next_random(void)
{
    static __thread uint64_t state;
    static __thread bool seeded;
    while (!seeded)
        seeded = getrandom(&state, sizeof state, 0) == sizeof state;
    uint64_t mixed = state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* Uniform in [0, count): numbers from the incomplete last round are thrown again. */
static uint64_t choose(uint64_t count)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % count, number;
    do
        number = next_random();
    while (number >= limit);
    return number % count;
}

/* -- telling -------------------------------------------------------------------------------------------------------- */

/* Returns the bytes read, which are fewer than wanted only when the file has become shorter; −1 with errno. */
static ssize_t read_piece(const struct collection_record *record, uint64_t at, char *piece, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread(record->fd, piece + done, length - done, (off_t)(record->offset + at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Writes text without the CR of CR LF; one at the very end of a piece waits for what comes next. */
static int put_text(FCGX_Stream *out, const char *text, size_t length, bool *held)
{
    size_t plain = 0;
    if (*held && length > 0 && text[0] != '\n' && mr_html(out, "\r", 1) < 0)
        return -1;
    *held = length > 0 ? false : *held;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\r' || (i + 1 < length && text[i + 1] != '\n'))
            continue;
        if (mr_html(out, text + plain, i - plain) < 0)
            return -1;
        plain = i + 1;
        *held = i + 1 == length;
    }
    return mr_html(out, text + plain, length - plain);
}

static size_t smaller(uint64_t left)
{
    return left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
}

/* Returns 0; −1 when the file has been written to and nothing of it was sent; 1 when the answer had to be cut. */
static int tell(FCGX_Request *req, const struct collection_record *record)
{
    char piece[PIECE_BYTES];
    bool held = false;
    size_t length = smaller(record->length);
    if (read_piece(record, 0, piece, length) != (ssize_t)length || !collection_is_whole(record))
        return -1;
    FCGX_PutStr(head, sizeof head - 1, req->out);
    for (uint64_t at = 0;;) {
        if (put_text(req->out, piece, length, &held) < 0)
            return 1;
        at += length;
        if (at == record->length)
            break;
        length = smaller(record->length - at);
        if (read_piece(record, at, piece, length) != (ssize_t)length) {
            mr_log(req, "a file became shorter while a fortune was read: its answer is cut");
            return 1;
        }
    }
    FCGX_PutStr(foot, sizeof foot - 1, req->out);
    return 0;
}

static int handle(FCGX_Request *req)
{
    struct fortune *fortune = mr_state(req);
    int64_t end_ms = now_ms() + WRITTEN_MS;
    refresh(fortune, req, false);
    for (;;) {
        struct collection *collection = acquire(fortune);
        bool empty = collection->count == 0;
        int result = -1;
        if (!empty) {
            struct collection_record record = collection_record(collection, choose(collection->count));
            result = tell(req, &record);
        }
        release(fortune, collection);
        if (result >= 0)
            return result;
        if (empty || now_ms() >= end_ms)
            break;
        /* Somebody writes into the file: its old text is gone, the new one is there in a moment. */
        nanosleep(&(struct timespec){.tv_nsec = WRITTEN_LOOK_MS * 1000000}, NULL);
        refresh(fortune, req, true);
    }
    mr_log(req, "no fortune can be told: 503");
    FCGX_PutStr(none, sizeof none - 1, req->out);
    return 0;
}

/* -- start and stop -------------------------------------------------------------------------------------------------- */

static int cut_paths(struct fortune *fortune, const struct mr_route *route, const char *option)
{
    char *rest = NULL;
    fortune->text = strdup(option);
    if (fortune->text == NULL)
        return -1;
    for (char *path = strtok_r(fortune->text, " :\t\n", &rest); path != NULL; path = strtok_r(NULL, " :\t\n", &rest)) {
        if (fortune->path_count == COLLECTION_FILES_MAX) {
            mr_route_log(route, "`files` names more than %d files", COLLECTION_FILES_MAX);
            return -1;
        }
        fortune->paths[fortune->path_count++] = path;
    }
    if (fortune->path_count == 0)
        mr_route_log(route, "`files` names no file");
    return fortune->path_count == 0 ? -1 : 0;
}

static void free_fortune(struct fortune *fortune)
{
    if (fortune->collection != NULL)
        collection_free(fortune->collection);
    pthread_mutex_destroy(&fortune->lock);
    free(fortune->text);
    free(fortune);
}

/* Files that are missing or empty are no reason not to start: they may come, and other routes do without. */
static int start(struct mr_route *route)
{
    const char *option = mr_route_option(route, "files");
    struct fortune *fortune = calloc(1, sizeof *fortune);
    if (fortune == NULL)
        return -1;
    pthread_mutex_init(&fortune->lock, NULL);
    if (cut_paths(fortune, route, option != NULL ? option : DEFAULT_FILES) < 0 ||
        (fortune->collection = collection_new(fortune->paths, fortune->path_count)) == NULL) {
        free_fortune(fortune);
        return -1;
    }
    mr_route_log(route, "%llu records in %d files", (unsigned long long)fortune->collection->count, fortune->path_count);
    log_faults(fortune, fortune->collection, route, NULL);
    fortune->checked_ms = now_ms();
    mr_route_set_state(route, fortune);
    return 0;
}

static void stop(struct mr_route *route)
{
    free_fortune(mr_route_state(route));
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "fortune", .handle = handle, .start = start, .stop = stop};
