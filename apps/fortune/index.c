/*
 * index.c: finds the records of a fortune file. No allocation, no input or output; any thread.
 */
#include "index.h"

#include <string.h>

static const unsigned char byte_order_mark[] = {0xef, 0xbb, 0xbf};

void index_start(struct index_reader *reader, index_found *found, void *arg)
{
    *reader = (struct index_reader){.found = found, .arg = arg};
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The record ends at `end`; the next one starts at `next`. */
static int close_record(struct index_reader *reader, uint64_t end, uint64_t next)
{
    struct index_place place = {.offset = reader->record_start, .length = end - reader->record_start};
    bool has_text = reader->has_text;
    reader->record_start = reader->text_end = next;
    reader->has_text = false;
    return has_text ? reader->found(reader->arg, place) : 0;
}

/* A line feed at `at`. */
static int close_line(struct index_reader *reader, uint64_t at)
{
    int result = 0;
    if (reader->line == INDEX_LINE_MARK || reader->line == INDEX_LINE_MARK_CR)
        result = close_record(reader, reader->text_end, at + 1);
    else
        reader->text_end = reader->ends_in_cr ? at - 1 : at;
    reader->line = INDEX_LINE_START;
    reader->ends_in_cr = false;
    return result;
}

/* A line that only looked like a separator: its `%` is text. */
static void take_as_text(struct index_reader *reader)
{
    if (reader->line == INDEX_LINE_MARK || reader->line == INDEX_LINE_MARK_CR)
        reader->has_text = true;
    reader->line = INDEX_LINE_TEXT;
}

/* One byte that is no line feed, at the start of a line or behind what may be a separator. */
static void read_byte(struct index_reader *reader, unsigned char byte)
{
    if (reader->line == INDEX_LINE_START && byte == '%')
        reader->line = INDEX_LINE_MARK;
    else if (reader->line == INDEX_LINE_MARK && byte == '\r')
        reader->line = INDEX_LINE_MARK_CR;
    else
        take_as_text(reader);
    reader->has_text = reader->has_text || (reader->line == INDEX_LINE_TEXT && !is_blank(byte));
    reader->ends_in_cr = byte == '\r';
}

/* Bytes of a line that is known to be text, without its line feed. */
static void read_text(struct index_reader *reader, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length && !reader->has_text; i++)
        reader->has_text = !is_blank(bytes[i]);
    if (length > 0)
        reader->ends_in_cr = bytes[length - 1] == '\r';
}

/* What began like a byte order mark is text after all. */
static void break_off_mark(struct index_reader *reader)
{
    if (reader->mark_length > 0) {
        reader->line = INDEX_LINE_TEXT;
        reader->has_text = true;
    }
    reader->mark_length = INDEX_NO_MARK;
}

/* Steps over the byte order mark. Returns how many bytes it took. */
static size_t skip_mark(struct index_reader *reader, const unsigned char *bytes, size_t length)
{
    size_t taken = 0;
    while (reader->mark_length >= 0 && taken < length) {
        if (bytes[taken] != byte_order_mark[reader->mark_length]) {
            break_off_mark(reader);
            break;
        }
        taken++;
        reader->offset++;
        if (++reader->mark_length == sizeof byte_order_mark) {
            reader->record_start = reader->text_end = reader->offset;
            reader->mark_length = INDEX_NO_MARK;
        }
    }
    return taken;
}

int index_read(struct index_reader *reader, const void *bytes, size_t length)
{
    const unsigned char *at = bytes, *end = at + length;
    at += skip_mark(reader, at, length);
    while (at < end) {
        if (reader->line == INDEX_LINE_TEXT) {
            const unsigned char *feed = memchr(at, '\n', (size_t)(end - at));
            const unsigned char *stop = feed != NULL ? feed : end;
            read_text(reader, at, (size_t)(stop - at));
            reader->offset += (uint64_t)(stop - at);
            at = stop;
            if (feed == NULL)
                break;
        }
        if (*at != '\n') {
            read_byte(reader, *at);
        } else {
            int result = close_line(reader, reader->offset);
            if (result != 0)
                return result;
        }
        at++;
        reader->offset++;
    }
    return 0;
}

int index_end(struct index_reader *reader)
{
    break_off_mark(reader);
    if (reader->line == INDEX_LINE_TEXT)
        reader->text_end = reader->ends_in_cr ? reader->offset - 1 : reader->offset;
    return close_record(reader, reader->text_end, reader->offset);
}
