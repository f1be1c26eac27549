/*
 * ask.c: the runtime's side of millrace.h as far as it gives the request's own words to its handler: the whole body,
 * fields of the query string and of a form. Runs on the handler's thread; everything lies in the request's arena.
 */
#include "millrace.h"

#include "serve/connection.h"
#include "serve/form.h"
#include "serve/request.h"
#include "serve/token.h"

/* The fields of one form, read once. */
struct request_form {
    struct form_field *fields;
    size_t count;
};

static const struct request_form no_form;

/* What was found wrong first is answered, unless the answer has begun to leave: then the handler alone knows. */
static void refuse(struct request *request, int status, const char *why)
{
    if (!request->started && request->refusal == NULL)
        request_refuse(request, status, why);
}

/* -- the body ---------------------------------------------------------------------------------------------------------
 */

/* Puts a NUL behind it that is not counted. */
static bool end_body(struct request *request)
{
    if (request_gather(request, &request->body, span_of("", 1)) < 0) {
        refuse(request, 500, "there is no memory for its body");
        return false;
    }
    request->body.length--;
    return true;
}

/* Gathers the rest of what the handler would read, and leaves all of it where the handler can still read it. */
static bool read_body(struct request *request)
{
    struct span bytes;
    if (request->body_given && request->body.length > 0) {
        refuse(request, 500, "it asked for the whole body after it had read from it");
        return false;
    }
    for (;;) {
        switch (request->connection->transport->read_body(request, &bytes)) {
        case TRANSPORT_BODY_BYTES:
            if (request_gather(request, &request->body, bytes) == 0)
                break;
            refuse(request, 500, "there is no memory for its body");
            return false;
        case TRANSPORT_BODY_END:
            return end_body(request);
        case TRANSPORT_BODY_CUT:
            refuse(request, 400, "its body ended early");
            return false;
        }
    }
}

const char *mr_body(FCGX_Request *req, size_t *length)
{
    struct request *request = request_of(req);
    if (request->whole_body == REQUEST_BODY_UNASKED)
        request->whole_body = read_body(request) ? REQUEST_BODY_WHOLE : REQUEST_BODY_LOST;
    *length = request->whole_body == REQUEST_BODY_WHOLE ? request->body.length : 0;
    return request->whole_body == REQUEST_BODY_WHOLE ? (const char *)request->body.bytes : NULL;
}

/* -- fields -----------------------------------------------------------------------------------------------------------
 */

static const struct request_form *read_form(struct request *request, struct span text)
{
    size_t count = form_count(text);
    if (count == 0)
        return &no_form;
    if (count > FORM_FIELDS_MAX) {
        refuse(request, 400, "a form has too many fields");
        return &no_form;
    }
    struct request_form *form = arena_take(&request->arena, sizeof *form);
    struct form_field *fields = arena_take(&request->arena, count * sizeof *fields);
    char *texts = arena_take(&request->arena, text.length + 2 * count);
    if (form == NULL || fields == NULL || texts == NULL) {
        refuse(request, 500, "there is no memory for its fields");
        return &no_form;
    }
    form_decode(text, fields, texts);
    *form = (struct request_form){.fields = fields, .count = count};
    return form;
}

static const char *find_value(struct request *request, const struct request_form *form, const char *name)
{
    const struct form_field *field = form_find(form->fields, form->count, name);
    if (field != NULL && field->value == NULL)
        refuse(request, 400, "the value of a field that was asked for is no text");
    return field == NULL ? NULL : field->value;
}

const char *mr_query(FCGX_Request *req, const char *name)
{
    struct request *request = request_of(req);
    if (request->query == NULL) {
        const char *text = request_variable(request, "QUERY_STRING");
        request->query = text == NULL ? &no_form : read_form(request, span_text(text));
    }
    return find_value(request, request->query, name);
}

/* RFC 9110 section 8.3.1: parameters may follow, and case says nothing. */
static struct span media_type(const struct request *request)
{
    const char *type = request_variable(request, "CONTENT_TYPE");
    return type == NULL ? span_of("", 0) : token_trim(span_of(type, strcspn(type, ";")));
}

static const struct request_form *read_body_form(FCGX_Request *req)
{
    struct request *request = request_of(req);
    struct span type = media_type(request);
    bool is_empty = request->body.length == 0; /* else some of it came before the handler was called */
    size_t length;
    if (!is_empty && !span_is_ignoring_case(type, "application/x-www-form-urlencoded")) {
        refuse(request, 415,
               span_is_ignoring_case(type, "multipart/form-data")
                   ? "mr_form does not read multipart/form-data: the form's enctype has to be the usual one"
                   : "its body is no form (application/x-www-form-urlencoded)");
        return &no_form;
    }
    const char *body = mr_body(req, &length);
    return body == NULL ? &no_form : read_form(request, span_of(body, length));
}

const char *mr_form(FCGX_Request *req, const char *name)
{
    struct request *request = request_of(req);
    if (request->form == NULL)
        request->form = read_body_form(req);
    return find_value(request, request->form, name);
}
