/*
 * fuzz_request.c: libFuzzer entry for a whole FastCGI connection: records in any cut, several requests, a handler that
 * reads its body in several ways, the answers. Every answer must be well-formed records, each request's STDOUT ended
 * once, directly before its END_REQUEST.
 *
 * The first byte says how the input is cut, the second what the handler does.
 */
#include "base/check.h"
#include "serve/record.h"
#include "serving.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    struct record_parser parser; /* of what is answered */
    uint16_t ended_id;           /* the STDOUT stream that has just ended, 0: none */
} wire;

static void check_piece(const struct record_piece *piece)
{
    if (piece->type == RECORD_END_REQUEST && piece->ends_record) {
        CHECK(piece->content_length == 8 && piece->id != 0);
        wire.ended_id = 0;
    } else if (piece->type == RECORD_STDOUT || piece->type == RECORD_STDERR) {
        CHECK(piece->id != 0);
        CHECK(wire.ended_id == 0); /* nothing comes between the end of STDOUT and END_REQUEST */
        if (piece->type == RECORD_STDOUT && piece->content_length == 0)
            wire.ended_id = piece->id;
    } else {
        CHECK(piece->type == RECORD_END_REQUEST || piece->id == 0);
        CHECK(piece->type == RECORD_END_REQUEST || piece->type == RECORD_GET_VALUES_RESULT ||
              piece->type == RECORD_UNKNOWN_TYPE);
    }
}

static void check_sent(struct span output)
{
    struct record_piece piece;
    enum record_result result;
    while ((result = record_parse(&wire.parser, &output, &piece)) == RECORD_PIECE)
        check_piece(&piece);
    CHECK(result == RECORD_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    memset(&wire, 0, sizeof wire);
    serving_run(&(struct serving){
        .letter = 'c',
        .input = span_of(data + 2, size - 2),
        .part = serving_part(data[0] & 0x7f, size),
        .pause = data[0] & 0x80,
        .behaviour = data[1],
        .on_sent = check_sent,
    });
    return 0;
}
