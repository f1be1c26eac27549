/*
 * index.h: where the records of a fortune file are. Pure: bytes in, in pieces of any size, places out.
 *
 * The rules: a line that is exactly `%` separates records, and only that; a line ends with LF, CR LF or the end of the
 * file. A record is what lies between, without its last line's end. A record of nothing but blanks and line ends is
 * none. A byte order mark at the start of the file belongs to no record.
 */
#ifndef FORTUNE_INDEX_H
#define FORTUNE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_place {
    uint64_t offset, length; /* bytes; length is at least 1 */
};

/* Called for each record in the order of the file. Anything but 0 ends the reading and is what the caller gets. */
typedef int index_found(void *arg, struct index_place place);

#define INDEX_NO_MARK (-1) /* there is none, or it is behind */

enum index_line { INDEX_LINE_START, INDEX_LINE_MARK, INDEX_LINE_MARK_CR, INDEX_LINE_TEXT };

/* The reader's state between two pieces. */
struct index_reader {
    index_found *found;
    void *arg;
    uint64_t offset;       /* bytes seen so far */
    uint64_t record_start; /* of the record being read */
    uint64_t text_end;     /* where the record's last complete line ends, without its CR and LF */
    enum index_line line;
    int mark_length; /* bytes of a byte order mark matched, or INDEX_NO_MARK */
    bool ends_in_cr; /* the last byte was a CR */
    bool has_text;   /* the record has something to show */
};

void index_start(struct index_reader *reader, index_found *found, void *arg);

/* The next bytes of the file; then its end. Return 0, or what `found` returned. */
int index_read(struct index_reader *reader, const void *bytes, size_t length) __attribute__((warn_unused_result));
int index_end(struct index_reader *reader) __attribute__((warn_unused_result));

#endif
