/*
 * collection.h: the fortune files as they were when they were read: open descriptors and the places of all records.
 * A collection never changes; when a file does, another one takes its place.
 */
#ifndef FORTUNE_COLLECTION_H
#define FORTUNE_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define COLLECTION_FILES_MAX   16
#define COLLECTION_RECORDS_MAX 8000000 /* of one file: 96 MB of places */

/* What tells one state of a file from another. All zero: it cannot be read. */
struct collection_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
};

struct collection_file {
    int fd; /* −1: cannot be read */
    struct collection_stamp stamp;
    uint64_t *offsets;
    uint32_t *lengths;
    uint64_t count, room;
    const char *fault; /* why it gives no or not all records, static text; NULL: nothing */
};

struct collection {
    int references; /* guarded by whoever shares it */
    int file_count;
    uint64_t count; /* records in all files */
    struct collection_file files[COLLECTION_FILES_MAX];
};

struct collection_record {
    int fd; /* the collection's */
    uint64_t offset, length;
    const struct collection_stamp *stamp; /* the collection's */
};

/* Opens and reads all files; blocks for as long as that takes. Missing and unreadable ones count as empty.
 * NULL with errno when memory is short. */
struct collection *collection_new(char *const *paths, int count);
void collection_free(struct collection *collection);

/* The number-th record of all, from 0. */
struct collection_record collection_record(const struct collection *collection, uint64_t number);

/* True when a file is not what it was, and has not been written to in the last 100 ms: so that a file that is being
 * written is not read half. */
bool collection_is_old(const struct collection *collection, char *const *paths);

/* False once somebody has written into the record's file, so that its place may be another record's by now. Ask after
 * reading. A file that was replaced, or has lost its name, is whole. */
bool collection_is_whole(const struct collection_record *record);

#endif
