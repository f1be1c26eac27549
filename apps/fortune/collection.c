/*
 * collection.c: opens and reads fortune files. Any thread; knows nothing of requests.
 */
#include "collection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index.h"

#define PIECE_BYTES 65536
#define SETTLED_MS  100

static struct collection_stamp stamp_of(const struct stat *status)
{
    struct collection_stamp stamp = {.device = status->st_dev, .inode = status->st_ino, .size = status->st_size,
                                     .modified = status->st_mtim, .changed = status->st_ctim};
    return stamp;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_stamp(const struct collection_stamp *a, const struct collection_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           is_same_time(&a->modified, &b->modified) && is_same_time(&a->changed, &b->changed);
}

/* -- reading ----------------------------------------------------------------------------------------------------- */

static int grow(struct collection_file *file)
{
    uint64_t room = file->room == 0 ? 1024 : file->room * 2;
    uint64_t *offsets = realloc(file->offsets, room * sizeof *offsets);
    if (offsets != NULL)
        file->offsets = offsets;
    uint32_t *lengths = realloc(file->lengths, room * sizeof *lengths);
    if (lengths != NULL)
        file->lengths = lengths;
    if (offsets == NULL || lengths == NULL)
        return -1;
    file->room = room;
    return 0;
}

static int add_record(void *arg, struct index_place place)
{
    struct collection_file *file = arg;
    if (place.length > UINT32_MAX) {
        file->fault = "a record of over 4 GiB was left out";
        return 0;
    }
    if (file->count == COLLECTION_RECORDS_MAX) {
        file->fault = "it has more than 8,000,000 records: the others were left out";
        return 1;
    }
    if (file->count == file->room && grow(file) < 0) {
        file->fault = "memory is short: not all of its records were read";
        return 1;
    }
    file->offsets[file->count] = place.offset;
    file->lengths[file->count] = (uint32_t)place.length;
    file->count++;
    return 0;
}

static void read_records(struct collection_file *file)
{
    static __thread char piece[PIECE_BYTES];
    struct index_reader reader;
    off_t at = 0;
    ssize_t got;
    int result = 0;
    index_start(&reader, add_record, file);
    while (result == 0 && (got = pread(file->fd, piece, sizeof piece, at)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            file->fault = "it cannot be read to its end";
            return;
        }
        result = index_read(&reader, piece, (size_t)got);
        at += got;
    }
    if (result == 0)
        result = index_end(&reader);
    if (result == 0 && file->count == 0)
        file->fault = "it has no records";
}

/* Without waiting for a FIFO's other end, and only what is a plain file. */
static void open_file(struct collection_file *file, const char *path)
{
    struct stat status;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0 && errno == EACCES) {
        file->fault = "it must not be read: permission denied";
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            file->stamp = stamp_of(&status); /* not tried again before something about it changes */
    } else if (file->fd < 0) {
        file->fault = errno == ENOENT ? "there is no such file" : "it cannot be opened";
    } else if (fstat(file->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        file->fault = "it is no regular file";
        close(file->fd);
        file->fd = -1;
    } else {
        file->stamp = stamp_of(&status);
        read_records(file);
    }
}

struct collection *collection_new(char *const *paths, int count)
{
    struct collection *collection = calloc(1, sizeof *collection);
    if (collection == NULL)
        return NULL;
    collection->references = 1;
    collection->file_count = count;
    for (int i = 0; i < count; i++) {
        open_file(&collection->files[i], paths[i]);
        collection->count += collection->files[i].count;
    }
    return collection;
}

void collection_free(struct collection *collection)
{
    for (int i = 0; i < collection->file_count; i++) {
        struct collection_file *file = &collection->files[i];
        if (file->fd >= 0)
            close(file->fd);
        free(file->offsets);
        free(file->lengths);
    }
    free(collection);
}

/* -- asking ------------------------------------------------------------------------------------------------------ */

struct collection_record collection_record(const struct collection *collection, uint64_t number)
{
    const struct collection_file *file = collection->files;
    while (number >= file->count) {
        number -= file->count;
        file++;
    }
    return (struct collection_record){.fd = file->fd,
                                      .offset = file->offsets[number],
                                      .length = file->lengths[number],
                                      .stamp = &file->stamp};
}

/* The time of change is left out: it changes as well when the file's name goes to another file. */
bool collection_is_whole(const struct collection_record *record)
{
    struct stat status;
    return fstat(record->fd, &status) == 0 && status.st_size == record->stamp->size &&
           is_same_time(&status.st_mtim, &record->stamp->modified);
}

static bool is_settled(const struct timespec *changed)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ms = (int64_t)(now.tv_sec - changed->tv_sec) * 1000 + (now.tv_nsec - changed->tv_nsec) / 1000000;
    return age_ms >= SETTLED_MS || age_ms < 0; /* a time in the future says nothing */
}

bool collection_is_old(const struct collection *collection, char *const *paths)
{
    bool old = false;
    for (int i = 0; i < collection->file_count; i++) {
        struct collection_stamp stamp = {0};
        struct stat status;
        if (stat(paths[i], &status) == 0 && S_ISREG(status.st_mode))
            stamp = stamp_of(&status);
        if (is_same_stamp(&stamp, &collection->files[i].stamp))
            continue;
        if (stamp.inode != 0 && !is_settled(&stamp.changed))
            return false;
        old = true;
    }
    return old;
}
