/* expect.c: the answers that must come, and whether they do. */
#include "expect.h"

#include <stdio.h>
#include <string.h>

#include "flow/answer.h"
#include "flow/deadline.h"
#include "suite.h"

#define EXPECT_CHECK(condition, format, ...)                                                                           \
    SUITE_CHECK(condition, "request %ld (%s), id %d: " format, expect->number, expect->request, expect->id, __VA_ARGS__)

static struct answer expect_answer;

struct expect *expect_add(struct expect_list *list, enum expect_what what, int id)
{
    struct expect *expect;

    SUITE_CHECK(list->count < EXPECT_MAX, "more than %d answers are expected", EXPECT_MAX);
    expect = &list->entries[list->count++];
    *expect = (struct expect){
        .what = what, .request = list->request, .number = list->number, .id = id, .status = 200, .any_body = true};
    return expect;
}

struct expect *expect_body(struct expect_list *list, int id, const void *body, size_t length)
{
    struct expect *expect = expect_add(list, EXPECT_ANSWER, id);

    expect->any_body = false;
    expect->body = body;
    expect->body_length = length;
    return expect;
}

struct expect *expect_text(struct expect_list *list, int id, const char *text)
{
    struct expect *expect = expect_body(list, id, NULL, strlen(text));

    snprintf(expect->text, sizeof expect->text, "%s", text);
    return expect;
}

void expect_status(struct expect_list *list, int id, int status)
{
    expect_add(list, EXPECT_ANSWER, id)->status = status;
}

void expect_refusal(struct expect_list *list, int id, int protocol_status)
{
    expect_add(list, EXPECT_REFUSAL, id)->protocol_status = protocol_status;
}

size_t expect_left(const struct expect_list *list)
{
    return list->count - list->at;
}

void expect_clear(struct expect_list *list)
{
    list->count = list->at = 0;
}

/* Whether tests/apps/params.c has listed `SOAK=` with this value. */
static bool expect_has_variable(const struct expect *expect)
{
    size_t length;
    const unsigned char *body = answer_body(&expect_answer, &length);
    const char *found = memmem(body, length, "\0SOAK=", 6);
    size_t left = found ? length - (size_t)((const unsigned char *)found - body) - 6 : 0;

    return left > expect->body_length && memcmp(found + 6, expect->body, expect->body_length) == 0 &&
           found[6 + expect->body_length] == '\0';
}

static bool expect_has_body(const struct expect *expect)
{
    const void *wanted = expect->body ? expect->body : expect->text;
    const unsigned char *body;
    size_t length;

    if (expect->any_body)
        return true;
    if (expect->is_pattern)
        return answer_body_is_pattern(&expect_answer, expect->body_length);
    if (expect->is_variable)
        return expect_has_variable(expect);
    body = answer_body(&expect_answer, &length);
    return length == expect->body_length && memcmp(body, wanted, length) == 0;
}

static void expect_check_answer(const struct expect *expect, struct link *link)
{
    struct answer *answer = &expect_answer;

    answer_read(answer, link, expect->id, DEADLINE_USUAL_MS);
    EXPECT_CHECK(answer->protocol_status == RECORD_REQUEST_COMPLETE, "protocolStatus %d", answer->protocol_status);
    EXPECT_CHECK(answer->app_status == 0, "appStatus %u", answer->app_status);
    EXPECT_CHECK(answer_status(answer) == expect->status, "status %d instead of %d", answer_status(answer),
                 expect->status);
    EXPECT_CHECK(expect_has_body(expect), "%zu bytes came, not the %zu of the right body", answer->out.length,
                 expect->body_length);
    EXPECT_CHECK(answer->err.length == expect->err_length, "%zu bytes of STDERR instead of %zu", answer->err.length,
                 expect->err_length);
    EXPECT_CHECK(strspn(bytes_text(&answer->err), "e") == expect->err_length, "STDERR is not what was written: '%.20s'",
                 bytes_text(&answer->err));
}

static void expect_check_end(const struct expect *expect, struct link *link)
{
    int wanted = expect->what == EXPECT_END ? RECORD_REQUEST_COMPLETE : expect->protocol_status;
    struct answer *answer = &expect_answer;

    answer_read_end(answer, link, expect->id, DEADLINE_USUAL_MS);
    EXPECT_CHECK(answer->protocol_status == wanted, "protocolStatus %d instead of %d", answer->protocol_status, wanted);
    EXPECT_CHECK(expect->what == EXPECT_END || answer->out.length + answer->err.length == 0, "%zu bytes with a refusal",
                 answer->out.length + answer->err.length);
}

static void expect_check_values(const struct expect *expect, struct link *link)
{
    static const char values[] = "\x0f\x01"
                                 "FCGI_MPXS_CONNS0";
    struct answer_record record = answer_record(link, DEADLINE_USUAL_MS);

    EXPECT_CHECK(record.type == RECORD_GET_VALUES_RESULT && record.id == 0, "a record of type %d with id %d",
                 record.type, record.id);
    EXPECT_CHECK(record.length == sizeof values - 1 && memcmp(record.content, values, record.length) == 0,
                 "%zu bytes of other values", record.length);
}

static void expect_check_unknown_type(const struct expect *expect, struct link *link)
{
    struct answer_record record = answer_record(link, DEADLINE_USUAL_MS);

    EXPECT_CHECK(record.type == RECORD_UNKNOWN_TYPE && record.id == 0 && record.length == 8,
                 "a record of type %d with id %d and %zu bytes", record.type, record.id, record.length);
    EXPECT_CHECK(record.content[0] == expect->type, "UNKNOWN_TYPE names %d instead of %d", record.content[0],
                 expect->type);
}

void expect_check(struct expect_list *list, struct link *link)
{
    const struct expect *expect = &list->entries[list->at];

    switch (expect->what) {
    case EXPECT_ANSWER:
        expect_check_answer(expect, link);
        break;
    case EXPECT_END:
    case EXPECT_REFUSAL:
        expect_check_end(expect, link);
        break;
    case EXPECT_VALUES:
        expect_check_values(expect, link);
        break;
    case EXPECT_UNKNOWN_TYPE:
        expect_check_unknown_type(expect, link);
        break;
    }
    list->at++;
}
