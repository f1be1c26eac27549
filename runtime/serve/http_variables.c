/*
 * http_variables.c: makes a request's variables in one block of its arena. Runs on lanes.
 */
#include "serve/http_variables.h"

#include <inttypes.h>
#include <stdio.h>

#include "serve/forwarded.h"
#include "serve/http_path.h"
#include "serve/request.h"
#include "serve/token.h"

#define NAMES_BYTES 384 /* of the variables that every request has: their names, `=`, NUL and short values */
#define FIELD_NAME  "HTTP_"
#define OWN_ENTRIES 10 /* beside those of the origin and of fields: SCRIPT_NAME and PATH_INFO as well */

/* The block that is being filled, and the variables that point into it. */
struct block {
    char *at;
    struct variables *variables;
    const uint8_t *head_at;
};

static inline void put(struct block *block, struct span value)
{
    if (value.length > 0)
        memcpy(block->at, value.at, value.length);
    block->at += value.length;
}

/* `name` ends with its `=`. Returns the value, NULL when memory is short. */
static inline const char *add(struct block *block, const char *name, struct span value)
{
    char *entry = block->at;
    put(block, span_text(name));
    const char *start = block->at;
    put(block, value);
    *block->at++ = '\0';
    return variables_add(block->variables, entry) < 0 ? NULL : start;
}

static int add_origin(struct block *block, const struct origin *origin)
{
    char *entries = block->at;
    put(block, origin_entries(origin));
    for (int i = 0; i < origin->count; i++)
        if (variables_add(block->variables, entries + origin->places[i]) < 0)
            return -1;
    return 0;
}

/* Letters, digits and `-` alone, as front ends have it: names that differ only in what becomes `_` would pass for each
 * other. */
static int add_field(struct block *block, struct span name, struct span value)
{
    char *entry = block->at, *at = entry + sizeof FIELD_NAME - 1;
    memcpy(entry, FIELD_NAME, sizeof FIELD_NAME - 1);
    for (size_t i = 0; i < name.length; i++) {
        uint8_t byte = name.at[i];
        if (!token_is_alphanumeric(byte) && byte != '-')
            return 0;
        *at++ = (char)(byte == '-' ? '_' : byte >= 'a' ? byte - 'a' + 'A' : byte);
    }
    block->at = at;
    *block->at++ = '=';
    put(block, value);
    *block->at++ = '\0';
    return variables_add_field(block->variables, entry, (size_t)(at - entry));
}

static int add_fields(struct block *block, const struct http_head *head)
{
    for (int i = 0; i < head->field_count; i++)
        if (add_field(block, http_part_of(block->head_at, head->fields[i].name),
                      http_part_of(block->head_at, head->fields[i].value)) < 0)
            return -1;
    return 0;
}

/* The value of the first field of this name; empty when there is none. */
static struct span find_field(const struct http_head *head, const uint8_t *head_at, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < head->field_count; i++)
        if (head->fields[i].name.length == length &&
            span_is_ignoring_case(http_part_of(head_at, head->fields[i].name), name))
            return http_part_of(head_at, head->fields[i].value);
    return span_of("", 0);
}

/* Without the port; the brackets of an address stay. */
static struct span host_name(struct span host, const struct origin *origin)
{
    if (host.length == 0)
        return span_text(origin_value(origin, "SERVER_ADDR"));
    const uint8_t *end = host.at[0] == '[' ? memchr(host.at, ']', host.length) : NULL;
    size_t start = end == NULL ? 0 : (size_t)(end - host.at);
    const uint8_t *colon = memchr(host.at + start, ':', host.length - start);
    return colon == NULL ? host : span_of(host.at, (size_t)(colon - host.at));
}

static int begin_block(struct block *block, const struct request *request, const struct origin *origin,
                       struct variables *variables)
{
    const struct http_head *head = &request->head;
    /* Each byte of the head is in at most three values, and a field's name grows by HTTP_ and its ends. */
    size_t bytes =
        origin->length + 3 * (size_t)head->length + (size_t)head->field_count * sizeof FIELD_NAME + NAMES_BYTES;
    *block = (struct block){arena_take(variables->arena, bytes), variables, request->input + request->input_start};
    return block->at == NULL ? -1 : variables_reserve(variables, origin->count + head->field_count + OWN_ENTRIES);
}

static int add_all(struct block *block, struct request *request, const struct origin *origin)
{
    const struct http_head *head = &request->head;
    const uint8_t *at = block->head_at;
    struct span uri = http_part_of(at, head->uri);
    struct span length = find_field(head, at, "Content-Length");
    bool lacks_slash = head->path.length == 0;
    if (add_origin(block, origin) < 0 ||
        add(block, head->minor == 1 ? "SERVER_PROTOCOL=HTTP/1.1" : "SERVER_PROTOCOL=HTTP/1.0", span_of("", 0)) ==
            NULL ||
        add(block, "SERVER_NAME=", host_name(http_part_of(at, head->host), origin)) == NULL ||
        (request->method = add(block, "REQUEST_METHOD=", http_part_of(at, head->method))) == NULL ||
        (request->uri = add(block, lacks_slash ? "REQUEST_URI=/" : "REQUEST_URI=", uri)) == NULL ||
        add(block, "QUERY_STRING=", http_part_of(at, head->query)) == NULL ||
        add(block, "CONTENT_TYPE=", find_field(head, at, "Content-Type")) == NULL ||
        add(block, "CONTENT_LENGTH=", length) == NULL)
        return -1;
    request->uri -= lacks_slash;
    return add_fields(block, head);
}

static struct span value_of(const struct variables *variables, const char *name)
{
    const char *value = variables_value(variables, name);
    return value == NULL ? span_of("", 0) : span_text(value);
}

static int forward_client(struct variables *variables, const struct networks *trusted)
{
    struct span client;
    if (!forwarded_client(value_of(variables, "HTTP_X_FORWARDED_FOR"), trusted, &client))
        return 0;
    if (variables_change(variables, "REMOTE_ADDR", client) < 0)
        return -1;
    return variables_change(variables, "REMOTE_PORT", span_of("", 0)); /* which nobody tells */
}

static int forward_scheme(struct variables *variables)
{
    const char *scheme = forwarded_scheme(value_of(variables, "HTTP_X_FORWARDED_PROTO"));
    if (scheme == NULL)
        return 0;
    if (variables_change(variables, "REQUEST_SCHEME", span_text(scheme)) < 0)
        return -1;
    return strcmp(scheme, "https") == 0 ? variables_change(variables, "HTTPS", span_text("on")) : 0;
}

static int forward_host(struct variables *variables)
{
    char text[16];
    struct span host;
    int host_port = 0, port = forwarded_port(value_of(variables, "HTTP_X_FORWARDED_PORT"));
    if (forwarded_host(value_of(variables, "HTTP_X_FORWARDED_HOST"), &host, &host_port) &&
        variables_change(variables, "SERVER_NAME", host) < 0)
        return -1;
    if (port <= 0)
        port = host_port;
    snprintf(text, sizeof text, "%d", port);
    return port > 0 ? variables_change(variables, "SERVER_PORT", span_text(text)) : 0;
}

int http_variables_forward(struct variables *variables, const struct networks *trusted)
{
    return forward_client(variables, trusted) < 0 || forward_scheme(variables) < 0 || forward_host(variables) < 0 ? -1
                                                                                                                  : 0;
}

int http_variables_read(struct request *request, const struct origin *origin, struct variables *variables,
                        struct span *path)
{
    const struct http_head *head = &request->head;
    struct block block;
    uint8_t *decoded = arena_take(variables->arena, (size_t)head->path.length + 1);
    if (decoded == NULL || begin_block(&block, request, origin, variables) < 0 ||
        add_all(&block, request, origin) < 0) {
        request->method = request->uri = "";
        return 500;
    }
    request->fcgx.envp = variables_end(variables);
    request->content_length = head->content_length;
    ssize_t length = http_path_normalise(http_part_of(block.head_at, head->path), decoded);
    *path = span_of(decoded, length < 0 ? 0 : (size_t)length);
    return length < 0 ? 400 : 0;
}

void http_variables_read_bad(struct request *request, const struct origin *origin, struct variables *variables)
{
    const struct http_head *head = &request->head;
    struct block block;
    if (begin_block(&block, request, origin, variables) < 0 || add_origin(&block, origin) < 0)
        return;
    if (head->has_line) {
        const char *method = add(&block, "REQUEST_METHOD=", http_part_of(block.head_at, head->method));
        const char *uri = add(&block, "REQUEST_URI=", http_part_of(block.head_at, head->uri));
        request->method = method == NULL ? "" : method;
        request->uri = uri == NULL ? "" : uri;
    }
    request->fcgx.envp = variables_end(variables);
}

void http_variables_set_length(struct request *request)
{
    char entry[40];
    int length = snprintf(entry, sizeof entry, "CONTENT_LENGTH=%" PRId64, request->body_bytes);
    for (char **at = request->fcgx.envp; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, "CONTENT_LENGTH=", 15) != 0)
            continue;
        char *larger = arena_take(&request->arena, (size_t)length + 1);
        if (larger != NULL)
            *at = memcpy(larger, entry, (size_t)length + 1);
        return;
    }
}
