/* answer.c: reads FastCGI records and puts an answer together, checking the framing on the way. */
#include "answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "deadline.h"
#include "suite.h"

struct answer_record answer_record(struct link *link, int limit_ms)
{
    static unsigned char content[RECORD_CONTENT_MAX + 255];
    unsigned char head[RECORD_HEAD];
    struct answer_record record = {.content = content};

    link_read(link, head, sizeof head, limit_ms);
    record.version = head[0];
    record.type = head[1];
    record.id = head[2] << 8 | head[3];
    record.length = (size_t)(head[4] << 8 | head[5]);
    link_read(link, content, record.length + head[6], limit_ms);
    SUITE_CHECK(record.version == 1, "a record of version %d", record.version);
    SUITE_CHECK(record.type >= RECORD_BEGIN && record.type <= RECORD_UNKNOWN_TYPE, "a record of type %d", record.type);
    return record;
}

static void answer_add_out(struct answer *answer, const struct answer_record *record)
{
    SUITE_CHECK(!answer->out_ended, "a STDOUT record after the empty one");
    if (record->length == 0) {
        answer->out_ended = true;
        return;
    }
    answer->out_records++;
    if (record->length > answer->largest)
        answer->largest = record->length;
    bytes_add(&answer->out, record->content, record->length);
}

static void answer_end(struct answer *answer, const struct answer_record *record)
{
    const unsigned char *end = record->content;

    SUITE_CHECK(record->length == 8, "END_REQUEST has %zu bytes", record->length);
    answer->app_status = (unsigned)end[0] << 24 | (unsigned)end[1] << 16 | (unsigned)end[2] << 8 | end[3];
    answer->protocol_status = end[4];
    SUITE_CHECK(answer->out_ended || answer->out.length == 0, "END_REQUEST before the end of STDOUT");
}

void answer_read_end(struct answer *answer, struct link *link, int id, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;
    struct answer_record record;

    bytes_clear(&answer->out);
    bytes_clear(&answer->err);
    *answer = (struct answer){.out = answer->out, .err = answer->err};
    do {
        record = answer_record(link, deadline_left_ms(end_ms));
        SUITE_CHECK(record.id == id, "a record of type %d with id %d in the answer to request %d", record.type,
                    record.id, id);
        if (record.type == RECORD_STDOUT) {
            answer_add_out(answer, &record);
        } else if (record.type == RECORD_STDERR) {
            bytes_add(&answer->err, record.content, record.length);
        } else {
            SUITE_CHECK(record.type == RECORD_END, "a record of type %d in an answer", record.type);
        }
    } while (record.type != RECORD_END);
    answer_end(answer, &record);
}

void answer_read(struct answer *answer, struct link *link, int id, int limit_ms)
{
    answer_read_end(answer, link, id, limit_ms);
    SUITE_CHECK(answer->out_ended || answer->protocol_status != RECORD_REQUEST_COMPLETE,
                "END_REQUEST without an empty STDOUT record");
}

void answer_fini(struct answer *answer)
{
    bytes_fini(&answer->out);
    bytes_fini(&answer->err);
}

void answer_ask(struct answer *answer, struct link *link, const struct record_request *request)
{
    struct bytes bytes = {0};

    record_whole(&bytes, request);
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    answer_read(answer, link, request->id ? request->id : 1, DEADLINE_USUAL_MS);
}

void answer_ask_once(struct answer *answer, const char *address, const struct record_request *request)
{
    struct link *link = link_new(address);

    answer_ask(answer, link, request);
    link_free(link);
}

/* Header sections end with a blank line; CGI allows LF alone (RFC 3875 section 6.2). */
static size_t answer_head_length(struct answer *answer)
{
    const char *text = bytes_text(&answer->out);
    const char *crlf = strstr(text, "\r\n\r\n"), *lf = strstr(text, "\n\n");

    if (crlf && (!lf || crlf < lf))
        return (size_t)(crlf - text) + 4;
    return lf ? (size_t)(lf - text) + 2 : 0;
}

/* The value of a header line within the section, NULL when it is not there. */
static const char *answer_header(struct answer *answer, const char *name)
{
    size_t head = answer_head_length(answer), length = strlen(name);
    const char *text = bytes_text(&answer->out), *at = text;

    while (at && at < text + head) {
        if (strncasecmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1 + strspn(at + length + 1, " ");
        at = strchr(at, '\n');
        if (at)
            at++;
    }
    return NULL;
}

int answer_status(struct answer *answer)
{
    const char *status = answer_header(answer, "Status");

    if (answer_head_length(answer) == 0)
        return -1;
    return status ? atoi(status) : 200;
}

bool answer_has_header(struct answer *answer, const char *line)
{
    size_t name_length = strcspn(line, ":");
    const char *wanted = line + name_length + 1 + strspn(line + name_length + 1, " ");
    char name[64] = "";
    const char *value;

    if (name_length >= sizeof name)
        return false;
    memcpy(name, line, name_length);
    value = answer_header(answer, name);
    return value && strncasecmp(value, wanted, strlen(wanted)) == 0 && strchr("\r\n", value[strlen(wanted)]);
}

const unsigned char *answer_body(struct answer *answer, size_t *length)
{
    size_t head = answer_head_length(answer);

    *length = answer->out.length - head;
    return answer->out.data + head;
}

bool answer_body_is(struct answer *answer, const char *text)
{
    size_t length;
    const unsigned char *body = answer_body(answer, &length);

    return length == strlen(text) && memcmp(body, text, length) == 0;
}

bool answer_body_is_pattern(struct answer *answer, size_t length)
{
    size_t seen;
    const unsigned char *body = answer_body(answer, &seen);

    if (seen != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (body[i] != 'a' + i % 23)
            return false;
    }
    return true;
}
