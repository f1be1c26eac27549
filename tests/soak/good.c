/* good.c: requests as a front end sends them, to applications that answer in many ways. */
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "flow/answer.h"
#include "kind.h"
#include "line.h"
#include "request.h"
#include "suite.h"

static struct bytes good_hello;

void good_learn(const char *address)
{
    struct answer answer = {0};
    const unsigned char *body;
    size_t length;

    answer_ask_once(&answer, address, &(struct record_request){.path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
    body = answer_body(&answer, &length);
    bytes_add(&good_hello, body, length);
    answer_fini(&answer);
}

static void good_add_hello(struct line *line)
{
    struct record_request request = request_get("/hello", NULL);

    request_add(&line->out, &request);
    expect_body(&line->expects, request.id, good_hello.data, good_hello.length);
}

static void good_add_hello_closed(struct line *line)
{
    struct record_request request = request_get("/hello", NULL);

    request.flags = RECORD_CLOSE;
    request_add(&line->out, &request);
    expect_body(&line->expects, request.id, good_hello.data, good_hello.length);
    line->ending = LINE_ENDS_BY_SERVER;
}

static void good_add_head_method(struct line *line)
{
    struct record_request request = request_get("/hello", NULL);

    request.method = "HEAD";
    request_add(&line->out, &request);
    expect_text(&line->expects, request.id, "");
}

static void good_add_echo(struct line *line)
{
    struct record_request request = request_post("/echo", NULL, chance_body_length());

    request.no_content_length = chance_one_in(8);
    request_add(&line->out, &request);
    expect_body(&line->expects, request.id, request.body, request.body_length);
}

static void good_add_unread(struct line *line)
{
    struct record_request request = request_post("/readpart", "0", chance_between(1, 40 << 10));

    request_add(&line->out, &request);
    expect_text(&line->expects, request.id, "0 more");
}

static void good_add_unread_closed(struct line *line)
{
    struct record_request request = request_post("/readpart", "0", chance_between(1, 40 << 10));

    request.flags = RECORD_CLOSE;
    request_add(&line->out, &request);
    expect_text(&line->expects, request.id, "0 more");
    line->ending = LINE_ENDS_BY_SERVER;
}

static void good_add_part_read(struct line *line)
{
    size_t length = chance_between(2, 40 << 10), part = chance_between(1, length - 1);
    struct record_request request;
    char query[24], text[24];

    snprintf(query, sizeof query, "%zu", part);
    snprintf(text, sizeof text, "%zu more", part);
    request = request_post("/readpart", query, length);
    request_add(&line->out, &request);
    expect_text(&line->expects, request.id, text);
}

/* Few sizes, so that the memory which an application of this size takes is soon the most that it ever takes. */
static void good_add_large_answer(struct line *line)
{
    size_t length = (size_t)64 << 10 << chance_between(0, 4);
    struct record_request request;
    char query[24];

    snprintf(query, sizeof query, "%zu%s", length, chance_one_in(2) ? ",1000" : "");
    request = request_get("/bigout", query);
    request_add(&line->out, &request);
    expect_body(&line->expects, request.id, NULL, length)->is_pattern = true;
}

static void good_add_unknown_route(struct line *line)
{
    struct record_request request = request_post("/nowhere", NULL, chance_one_in(2) ? 0 : chance_between(1, 2000));

    request_add(&line->out, &request);
    expect_status(&line->expects, request.id, 404);
}

static void good_add_status(struct line *line)
{
    static const char *const statuses[] = {"201", "204", "302", "404", "418+Teapot", "500"};
    struct record_request request = request_get("/status", statuses[chance_between(0, SUITE_COUNT(statuses) - 1)]);

    request_add(&line->out, &request);
    expect_status(&line->expects, request.id, atoi(request.query));
}

/* A value of any length, its records cut anywhere. */
static void good_add_variable(struct line *line)
{
    struct record_request request = request_get("/params", NULL);
    size_t length = chance_one_in(10) ? chance_between(0, 20000) : chance_between(0, 300);
    const char *value = chance_letters(length);
    struct bytes params = {0};

    record_params(&params, &request);
    record_pair_bytes(&params, "SOAK", 4, value, length);
    record_begin(&line->out, request.id, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&line->out, RECORD_PARAMS, request.id, params.data, params.length, chance_piece(length));
    record_add_padded(&line->out, RECORD_STDIN, request.id, NULL, 0, (int)chance_between(0, 255));
    bytes_fini(&params);
    expect_body(&line->expects, request.id, value, length)->is_variable = true;
}

static void good_add_complaint(struct line *line)
{
    size_t length = chance_one_in(20) ? chance_between(1, 70000) : chance_between(1, 2000);
    struct record_request request;
    char query[24];

    snprintf(query, sizeof query, "%zu", length);
    request = request_get("/errout", query);
    request_add(&line->out, &request);
    expect_text(&line->expects, request.id, "clean body")->err_length = 3 * length;
}

struct kind good_kinds[] = {
    {"GET, kept", 300, good_add_hello, 0},
    {"GET, not kept", 20, good_add_hello_closed, 0},
    {"HEAD", 20, good_add_head_method, 0},
    {"POST, echoed", 230, good_add_echo, 0},
    {"POST, body not read", 60, good_add_unread, 0},
    {"POST, body not read, not kept", 10, good_add_unread_closed, 0},
    {"POST, body read in part", 40, good_add_part_read, 0},
    {"large answer", 8, good_add_large_answer, 0},
    {"unknown route", 40, good_add_unknown_route, 0},
    {"other status", 30, good_add_status, 0},
    {"long variable", 30, good_add_variable, 0},
    {"error stream", 30, good_add_complaint, 0},
    {0},
};
