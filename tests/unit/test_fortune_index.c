/*
 * test_fortune_index.c: the records of a fortune file, by the rules of apps/fortune/index.h. Every file of the table is
 * read whole, cut in two at every place, and byte by byte, from memory that ends exactly where the piece ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../apps/fortune/index.h"
#include "suite.h"

enum { RECORDS_MAX = 8, STOPPED = 7 };

struct file {
    const char *name;
    const char *bytes;
    size_t length;
    const char *records[RECORDS_MAX]; /* as they stand in the file: CR inside a record stays */
};
#define BYTES(text) text, sizeof(text) - 1

static const struct file files[] = {
    {"two records", BYTES("one\n%\ntwo\n%\n"), {"one", "two"}},
    {"lines of a record", BYTES("a\nb\n%\nc\n\nd\n%\n"), {"a\nb", "c\n\nd"}},

    /* CR LF */
    {"CR LF", BYTES("one\r\n%\r\ntwo\r\n%\r\n"), {"one", "two"}},
    {"CR LF and LF mixed", BYTES("one\r\n%\ntwo\n%\r\nthree\r\n"), {"one", "two", "three"}},
    {"CR LF inside a record", BYTES("a\r\nb\r\n%\r\n"), {"a\r\nb"}},
    {"separator with a trailing blank", BYTES("one\n% \ntwo\n"), {"one\n% \ntwo"}},
    {"separator with a trailing tab", BYTES("one\n%\t\ntwo\n"), {"one\n%\t\ntwo"}},
    {"separator with two CR", BYTES("one\n%\r\r\ntwo\n"), {"one\n%\r\r\ntwo"}},
    {"CR alone is no line end", BYTES("one\r%\rtwo\n%\n"), {"one\r%\rtwo"}},
    {"two CR before LF: one belongs to the line end", BYTES("one\r\r\n%\n"), {"one\r"}},

    /* Ends */
    {"ends in text", BYTES("one\n%\ntwo"), {"one", "two"}},
    {"ends in text and LF", BYTES("one\n%\ntwo\n"), {"one", "two"}},
    {"ends in text and CR", BYTES("one\r\n%\r\ntwo\r"), {"one", "two"}},
    {"ends in a separator without LF", BYTES("one\n%"), {"one"}},
    {"ends in a separator and CR", BYTES("one\r\n%\r"), {"one"}},
    {"ends in a separator and LF", BYTES("one\n%\n"), {"one"}},
    {"ends in two per cent signs", BYTES("one\n%%"), {"one\n%%"}},
    {"ends in empty lines", BYTES("one\n%\n\n\n"), {"one"}},
    {"ends in blanks", BYTES("one\n%\n  "), {"one"}},
    {"one record without a separator", BYTES("one"), {"one"}},

    /* Per cent signs that separate nothing */
    {"100%", BYTES("100%\n%\nb\n"), {"100%", "b"}},
    {"%d", BYTES("a\n%d\nb\n%\n"), {"a\n%d\nb"}},
    {"blank before", BYTES("a\n %\nb\n%\n"), {"a\n %\nb"}},
    {"two of them", BYTES("a\n%%\nb\n%\n"), {"a\n%%\nb"}},
    {"text behind", BYTES("a\n% off\nb\n%\n"), {"a\n% off\nb"}},
    {"first in the file", BYTES("%\na\n%\n"), {"a"}},
    {"text first in the file", BYTES("%a\n%\nb"), {"%a", "b"}},

    /* Nothing */
    {"empty file", BYTES(""), {NULL}},
    {"only a separator", BYTES("%"), {NULL}},
    {"only separators", BYTES("%\n%\n"), {NULL}},
    {"only separators in CR LF", BYTES("%\r\n%\r\n%\r\n"), {NULL}},
    {"only line ends", BYTES("\n\n\n"), {NULL}},
    {"only line ends in CR LF", BYTES("\r\n\r\n"), {NULL}},
    {"only blanks", BYTES(" \n\t\n%\n  "), {NULL}},
    {"empty records between", BYTES("%\n%\none\n%\n%\n\n%\n \n%\ntwo\n%\n%\n"), {"one", "two"}},
    {"empty lines around text stay", BYTES("\none\n\n%\n"), {"\none\n"}},

    /* Encodings */
    {"byte order mark", BYTES("\xef\xbb\xbfone\n%\ntwo\n"), {"one", "two"}},
    {"byte order mark before a separator", BYTES("\xef\xbb\xbf%\none\n"), {"one"}},
    {"byte order mark alone", BYTES("\xef\xbb\xbf"), {NULL}},
    {"byte order mark and LF", BYTES("\xef\xbb\xbf\n"), {NULL}},
    {"half a mark", BYTES("\xef\xbb"), {"\xef\xbb"}},
    {"half a mark, then text", BYTES("\xef\xbbone\n%\ntwo"), {"\xef\xbbone", "two"}},
    {"half a mark, then a separator's sign", BYTES("\xef%\n%\ntwo"), {"\xef%", "two"}},
    {"a mark elsewhere is text", BYTES("one\n%\n\xef\xbb\xbftwo"), {"one", "\xef\xbb\xbftwo"}},
    {"two marks: the second is text", BYTES("\xef\xbb\xbf\xef\xbb\xbfone"), {"\xef\xbb\xbfone"}},
    {"UTF-8, Latin-1, escape, backspace", BYTES("\xc3\xa4\n%\n\xe4\x1b[1m_\bx\n"), {"\xc3\xa4", "\xe4\x1b[1m_\bx"}},
};

struct seen {
    struct index_place places[RECORDS_MAX];
    size_t count;
};

static int note(void *arg, struct index_place place)
{
    struct seen *seen = arg;
    if (seen->count == RECORDS_MAX)
        return STOPPED;
    seen->places[seen->count++] = place;
    return 0;
}

/* From a block of its own, so that a sanitizer sees a byte read too many. */
static void read_piece(struct index_reader *reader, const char *bytes, size_t length)
{
    char *piece = malloc(length > 0 ? length : 1);
    memcpy(piece, bytes, length);
    CU_ASSERT_EQUAL_FATAL(index_read(reader, piece, length), 0);
    free(piece);
}

static void check_records(const struct file *file, const struct seen *seen, const char *how, size_t where)
{
    size_t expected = 0;
    while (expected < RECORDS_MAX && file->records[expected] != NULL)
        expected++;
    SUITE_CHECK(seen->count == expected, "%s, %s %zu: expected %zu records, seen %zu", file->name, how, where, expected,
                seen->count);
    for (size_t i = 0; i < expected; i++) {
        struct index_place place = seen->places[i];
        SUITE_CHECK(place.offset + place.length <= file->length, "%s, %s %zu: record %zu is beyond the file",
                    file->name, how, where, i);
        SUITE_CHECK(place.length == strlen(file->records[i]) &&
                        memcmp(file->bytes + place.offset, file->records[i], place.length) == 0,
                    "%s, %s %zu: record %zu is '%.*s', expected '%s'", file->name, how, where, i, (int)place.length,
                    file->bytes + place.offset, file->records[i]);
    }
}

static void reads_whole_files(void)
{
    for (size_t i = 0; i < SUITE_COUNT(files); i++) {
        struct seen seen = {0};
        struct index_reader reader;
        index_start(&reader, note, &seen);
        read_piece(&reader, files[i].bytes, files[i].length);
        CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
        check_records(&files[i], &seen, "whole", 0);
    }
}

static void reads_files_cut_at_every_place(void)
{
    for (size_t i = 0; i < SUITE_COUNT(files); i++) {
        for (size_t cut = 0; cut <= files[i].length; cut++) {
            struct seen seen = {0};
            struct index_reader reader;
            index_start(&reader, note, &seen);
            read_piece(&reader, files[i].bytes, cut);
            read_piece(&reader, files[i].bytes + cut, files[i].length - cut);
            CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
            check_records(&files[i], &seen, "cut at", cut);
        }
    }
}

static void reads_files_in_small_pieces(void)
{
    for (size_t i = 0; i < SUITE_COUNT(files); i++) {
        for (size_t piece = 1; piece <= 3; piece++) {
            struct seen seen = {0};
            struct index_reader reader;
            index_start(&reader, note, &seen);
            for (size_t at = 0; at < files[i].length; at += piece) {
                size_t left = files[i].length - at;
                read_piece(&reader, files[i].bytes + at, left < piece ? left : piece);
            }
            CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
            check_records(&files[i], &seen, "pieces of", piece);
        }
    }
}

static void reads_crlf_files_like_lf_files(void)
{
    struct seen seen = {0};
    struct index_reader reader;
    for (size_t i = 0; i < SUITE_COUNT(files); i++) {
        const struct file *file = &files[i];
        char crlf[256];
        size_t length = 0;
        if (memchr(file->bytes, '\r', file->length) != NULL)
            continue;
        for (size_t at = 0; at < file->length; at++) {
            if (file->bytes[at] == '\n')
                crlf[length++] = '\r';
            crlf[length++] = file->bytes[at];
        }
        seen.count = 0;
        index_start(&reader, note, &seen);
        read_piece(&reader, crlf, length);
        CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
        size_t expected = 0;
        while (file->records[expected] != NULL)
            expected++;
        SUITE_CHECK(seen.count == expected, "%s: expected %zu records, seen %zu", file->name, expected, seen.count);
        for (size_t record = 0; record < seen.count; record++)
            SUITE_CHECK(seen.places[record].length == 0 ||
                            crlf[seen.places[record].offset + seen.places[record].length - 1] != '\r' ||
                            crlf[seen.places[record].offset + seen.places[record].length] == '\r',
                        "%s: record %zu ends in CR", file->name, record);
    }
}

static void keeps_nul_bytes(void)
{
    static const char bytes[] = "a\0b\n%\n\0\n";
    struct seen seen = {0};
    struct index_reader reader;
    index_start(&reader, note, &seen);
    read_piece(&reader, bytes, sizeof bytes - 1);
    CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_EQUAL(seen.places[0].length, 3);
    CU_ASSERT_EQUAL(seen.places[1].length, 1);
}

static void stops_when_told(void)
{
    struct seen seen = {0};
    struct index_reader reader;
    int result = 0;
    index_start(&reader, note, &seen);
    for (int i = 0; i <= RECORDS_MAX && result == 0; i++)
        result = index_read(&reader, "x\n%\n", 4);
    CU_ASSERT_EQUAL(result, STOPPED);
    index_start(&reader, note, &seen);
    CU_ASSERT_EQUAL_FATAL(index_read(&reader, "x", 1), 0);
    CU_ASSERT_EQUAL(index_end(&reader), STOPPED);
}

/* A place beyond 4 GiB, without reading as much: the reader only counts. */
static void counts_beyond_4_gib(void)
{
    const uint64_t far = UINT64_C(5) << 30;
    struct seen seen = {0};
    struct index_reader reader;
    index_start(&reader, note, &seen);
    read_piece(&reader, "start\n", 6);
    reader.offset += far;
    reader.record_start += far;
    reader.text_end += far;
    read_piece(&reader, "%\nfar away\n%\n", 13);
    CU_ASSERT_EQUAL_FATAL(index_end(&reader), 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 2);
    CU_ASSERT_EQUAL(seen.places[1].offset, far + 8);
    CU_ASSERT_EQUAL(seen.places[1].length, 8);
}

static const struct suite_case cases[] = {
    {"reads whole files", reads_whole_files},
    {"reads files cut at every place", reads_files_cut_at_every_place},
    {"reads files in small pieces", reads_files_in_small_pieces},
    {"reads CR LF files like LF files", reads_crlf_files_like_lf_files},
    {"keeps NUL bytes", keeps_nul_bytes},
    {"stops when told", stops_when_told},
    {"counts beyond 4 GiB", counts_beyond_4_gib},
};

int main(int argc, char **argv)
{
    return suite_main("fortune_index", cases, SUITE_COUNT(cases), argc, argv);
}
