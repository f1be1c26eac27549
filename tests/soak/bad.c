/* bad.c: what must cost the connection: records that are broken, and front ends that leave in the middle. */
#include "chance.h"
#include "kind.h"
#include "line.h"
#include "request.h"

static void bad_add_version(struct line *line)
{
    int version = (int)chance_between(2, 256) % 256;

    record_add_version(&line->out, version, RECORD_BEGIN, request_id(), "\0\1\1\0\0\0\0", 8);
    line->ending = LINE_ENDS_BY_SERVER;
}

static void bad_add_begin(struct line *line)
{
    static const unsigned char begin[16] = {0, RECORD_RESPONDER, RECORD_KEEP};
    size_t length = chance_one_in(2) ? 7 : chance_between(9, 16);

    record_add(&line->out, RECORD_BEGIN, request_id(), begin, length);
    line->ending = LINE_ENDS_BY_SERVER;
}

static void bad_add_id_0(struct line *line)
{
    record_add(&line->out, (int)chance_between(RECORD_BEGIN, RECORD_DATA), 0, "\0\1\1\0\0\0\0", 8);
    line->ending = LINE_ENDS_BY_SERVER;
}

/* At least a record's head, and its version is not 1. */
static void bad_add_garbage(struct line *line)
{
    size_t length = chance_between(RECORD_HEAD, 3000);
    const unsigned char *garbage = chance_bytes(length);

    while (garbage[0] == 1)
        garbage = chance_bytes(length);
    bytes_add(&line->out, garbage, length);
    line->ending = LINE_ENDS_BY_SERVER;
}

/* Records of any type, id and length with any content: whatever the server makes of them, we close. */
static void bad_add_wild_records(struct line *line)
{
    for (size_t count = chance_between(1, 20); count > 0; count--) {
        size_t length = chance_between(0, chance_one_in(2) ? 8 : 400);
        int type = (int)chance_between(0, 12), id = (int)chance_between(0, 2), padding = (int)chance_between(0, 8);

        record_add_padded(&line->out, type, id, chance_bytes(length), length, padding);
    }
    line->ending = LINE_ENDS_BY_CLIENT;
}

static void bad_add_cut_head(struct line *line)
{
    struct record_request request = request_get("/hello", NULL);
    size_t before = line->out.length;

    request_add_head(&line->out, &request, 0);
    line->out.length = chance_between(before + 1, line->out.length - 1);
    line->ending = LINE_ENDS_BY_CLIENT;
}

static void bad_add_cut_body(struct line *line)
{
    const char *path = chance_one_in(2) ? "/echo" : "/readpart";
    struct record_request request = request_post(path, "all", chance_between(2, CHANCE_BODY_MAX));
    size_t before;

    request_add_head(&line->out, &request, 0);
    before = line->out.length;
    record_stream(&line->out, RECORD_STDIN, request.id, request.body, request.body_length, chance_piece(2000));
    line->out.length = chance_between(before, before + RECORD_HEAD + request.body_length - 1);
    line->ending = LINE_ENDS_BY_CLIENT;
}

static void bad_add_cut_answer(struct line *line)
{
    struct record_request request = request_get("/bigout", chance_one_in(2) ? "1048576" : "200000");

    request_add(&line->out, &request);
    expect_add(&line->expects, EXPECT_ANSWER, request.id);
    line->sip_bytes = chance_between(1, 100000);
    line->ending = LINE_ENDS_IN_ANSWER;
}

struct kind bad_kinds[] = {
    {"other version", 6, bad_add_version, 0},
    {"BEGIN of other length", 6, bad_add_begin, 0},
    {"record with id 0", 6, bad_add_id_0, 0},
    {"garbage", 6, bad_add_garbage, 0},
    {"wild records, closed", 10, bad_add_wild_records, 0},
    {"closed in the head", 8, bad_add_cut_head, 0},
    {"closed in the body", 10, bad_add_cut_body, 0},
    {"closed in the answer", 6, bad_add_cut_answer, 0},
    {0},
};
