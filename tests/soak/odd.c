/* odd.c: what no usual front end sends, but the connection goes on: bad variables, records of nobody, ABORT. */
#include "chance.h"
#include "kind.h"
#include "line.h"
#include "request.h"
#include "suite.h"

static void odd_add_params(struct line *line, const struct bytes *params)
{
    int id = request_id();

    record_begin(&line->out, id, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&line->out, RECORD_PARAMS, id, params->data, params->length, chance_piece(500));
    record_add(&line->out, RECORD_STDIN, id, NULL, 0);
    expect_status(&line->expects, id, 400);
}

static void odd_add_nul(struct line *line)
{
    struct bytes params = {0};
    bool in_name = chance_one_in(2);

    record_params(&params, &(struct record_request){.path = "/hello"});
    record_pair_bytes(&params, in_name ? "N\0ME" : "NAME", 4, in_name ? "val" : "v\0l", 3);
    odd_add_params(line, &params);
    bytes_fini(&params);
}

static void odd_add_lying_length(struct line *line)
{
    static const struct {
        unsigned char content[12];
        size_t length;
    } lies[] = {
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a', 'b'}, 10},
        {{0xff, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x01, 'a', 'b'}, 10},
        {{0x80, 0x00, 0x00, 0x01, 0xff, 0xff, 0xff, 0xff, 'a', 'b'}, 10},
        {{0x80, 0x01, 0x00, 0x00, 0x05, 'a', 'b'}, 7},
        {{0x05, 0x05, 'a', 'b'}, 4},
        {{0x01}, 1},
        {{0x80, 0x00}, 2},
    };
    size_t lie = chance_between(0, SUITE_COUNT(lies) - 1);
    struct bytes params = {0};

    if (chance_one_in(2)) /* a lie behind good variables */
        record_params(&params, &(struct record_request){.path = "/hello"});
    bytes_add(&params, lies[lie].content, lies[lie].length);
    odd_add_params(line, &params);
    bytes_fini(&params);
}

/* Up to `most` bytes that mean nothing, in one record. */
static void odd_add_noise(struct line *line, int type, int id, size_t most)
{
    size_t length = chance_between(0, most);

    record_add(&line->out, type, id, chance_bytes(length), length);
}

static void odd_add_unknown_role(struct line *line)
{
    static const int roles[] = {0, RECORD_AUTHORIZER, RECORD_FILTER, 4, 257, 65535};
    bool closed = chance_one_in(4);
    int role = roles[chance_between(0, SUITE_COUNT(roles) - 1)], id = request_id();
    size_t params_length = chance_between(0, 1000), body_length = chance_between(0, 1000);

    record_begin(&line->out, id, role, closed ? RECORD_CLOSE : RECORD_KEEP);
    expect_refusal(&line->expects, id, RECORD_UNKNOWN_ROLE);
    if (closed) {
        line->ending = LINE_ENDS_BY_SERVER;
        return;
    }
    record_stream(&line->out, RECORD_PARAMS, id, chance_letters(params_length), params_length, 0);
    record_stream(&line->out, RECORD_STDIN, id, chance_bytes(body_length), body_length, 0);
}

static void odd_add_values_record(struct line *line)
{
    struct bytes names = {0};

    record_pair(&names, "FCGI_NOTHING", "");
    record_pair(&names, "FCGI_MPXS_CONNS", "");
    record_add_padded(&line->out, RECORD_GET_VALUES, 0, names.data, names.length, (int)chance_between(0, 255));
    bytes_fini(&names);
    expect_add(&line->expects, EXPECT_VALUES, 0);
}

/* Between two requests, or within one whose body has begun. */
static void odd_add_values(struct line *line)
{
    struct record_request request = request_post("/echo", NULL, chance_between(2, 2000));
    size_t part = chance_between(1, request.body_length - 1);

    if (chance_one_in(2)) {
        odd_add_values_record(line);
        return;
    }
    request_add_head(&line->out, &request, 0);
    request_add_part(&line->out, &request, 0, part);
    odd_add_values_record(line);
    request_add_rest(&line->out, &request, part);
    expect_body(&line->expects, request.id, request.body, request.body_length);
}

static void odd_add_unknown_type(struct line *line)
{
    static const int types[] = {0, 10, 11, 12, 77, 255};
    int type = types[chance_between(0, SUITE_COUNT(types) - 1)], padding = (int)chance_between(0, 255);
    size_t length = chance_between(0, 3000);

    record_add_padded(&line->out, type, 0, chance_bytes(length), length, padding);
    expect_add(&line->expects, EXPECT_UNKNOWN_TYPE, 0)->type = type;
}

static int odd_foreign_type(void)
{
    static const int types[] = {RECORD_ABORT, RECORD_PARAMS, RECORD_STDIN, RECORD_DATA, 77};

    return types[chance_between(0, SUITE_COUNT(types) - 1)];
}

/* Records that belong to no request, before, in and behind one. */
static void odd_add_foreign(struct line *line)
{
    struct record_request request = request_post("/echo", NULL, chance_between(2, 2000));
    int other = request_other_id(request.id);

    odd_add_noise(line, odd_foreign_type(), other, 500);
    request_add_head(&line->out, &request, 0);
    odd_add_noise(line, odd_foreign_type(), other, 500);
    request_add_part(&line->out, &request, 0, 1);
    record_add(&line->out, odd_foreign_type(), other, NULL, 0);
    odd_add_noise(line, 77, request.id, 500);
    request_add_rest(&line->out, &request, 1);
    record_add(&line->out, RECORD_STDIN, request.id, NULL, 0);
    expect_body(&line->expects, request.id, request.body, request.body_length);
}

static void odd_add_second_begin(struct line *line)
{
    struct record_request request = request_post("/echo", NULL, chance_between(2, 2000));
    int other = request_other_id(request.id);

    request_add_head(&line->out, &request, 0);
    request_add_part(&line->out, &request, 0, 1);
    record_whole(&line->out, &(struct record_request){.id = other, .flags = RECORD_CLOSE, .path = "/hello"});
    expect_refusal(&line->expects, other, RECORD_CANT_MPX_CONN);
    request_add_rest(&line->out, &request, 1);
    expect_body(&line->expects, request.id, request.body, request.body_length);
}

/* Long bodies are given up while the handler reads them, short ones before it is called. */
static void odd_add_abort_in_body(struct line *line)
{
    const char *path = chance_one_in(2) ? "/echo" : "/readpart";
    struct record_request request = request_post(path, "all", chance_between(2, CHANCE_BODY_MAX));

    request_add_head(&line->out, &request, chance_piece(500));
    request_add_part(&line->out, &request, 0, chance_between(1, request.body_length - 1));
    record_add(&line->out, RECORD_ABORT, request.id, NULL, 0);
    expect_add(&line->expects, EXPECT_END, request.id);
}

static void odd_add_abort_in_head(struct line *line)
{
    int id = request_id();

    record_begin(&line->out, id, RECORD_RESPONDER, RECORD_KEEP);
    if (chance_one_in(2)) {
        size_t length = chance_between(1, 500);

        record_add(&line->out, RECORD_PARAMS, id, chance_letters(length), length);
    }
    record_add(&line->out, RECORD_ABORT, id, NULL, 0);
    expect_add(&line->expects, EXPECT_END, id);
}

/* Of an id that was never used, then of a request that is complete: both change nothing. */
static void odd_add_abort_of_nothing(struct line *line)
{
    struct record_request request = request_post("/echo", NULL, chance_between(1, 500));

    record_add(&line->out, RECORD_ABORT, request_id(), NULL, 0);
    request_add(&line->out, &request);
    record_add(&line->out, RECORD_ABORT, request.id, NULL, 0);
    expect_body(&line->expects, request.id, request.body, request.body_length);
}

struct kind odd_kinds[] = {
    {"NUL in a variable", 20, odd_add_nul, 0},
    {"lengths that lie", 20, odd_add_lying_length, 0},
    {"unknown role", 20, odd_add_unknown_role, 0},
    {"GET_VALUES", 20, odd_add_values, 0},
    {"unknown management type", 15, odd_add_unknown_type, 0},
    {"records of nobody", 25, odd_add_foreign, 0},
    {"second BEGIN", 10, odd_add_second_begin, 0},
    {"ABORT in a body", 20, odd_add_abort_in_body, 0},
    {"ABORT in a head", 10, odd_add_abort_in_head, 0},
    {"ABORT of nothing", 10, odd_add_abort_of_nothing, 0},
    {0},
};
