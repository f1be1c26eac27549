/*
 * params.c: turns the pairs into entries where they are: the lengths in front of a name leave room to move it up by the
 * `=`, and its value stays. The NUL behind an entry goes where the next pair's lengths were, once they are read; behind
 * the last one there is a byte for it. Runs on lanes.
 */
#include "serve/params.h"

#include "serve/record.h"
#include "serve/request.h"

#define PAIRS_MAX 1024 /* a name that may be there already is looked for among all others */

/* What is being put together. */
struct params {
    struct request *request;
    struct variables *variables;
    struct span name, value; /* of the last pair, whose entry has no end yet; name.at NULL: there was none */
    struct span script_name, path_info, content_length;
};

static void note(struct params *params, int place)
{
    struct span name = params->name, value = params->value;
    struct request *request = params->request;
    if (span_is(name, "SCRIPT_NAME")) {
        params->variables->script_name = place;
        params->script_name = value;
    } else if (span_is(name, "PATH_INFO")) {
        params->variables->path_info = place;
        params->path_info = value;
    } else if (span_is(name, "REQUEST_METHOD")) {
        request->method = (const char *)value.at;
    } else if (span_is(name, "REQUEST_URI")) {
        request->uri = (const char *)value.at;
    } else if (span_is(name, "CONTENT_LENGTH")) {
        params->content_length = value;
    }
}

/* Ends the last entry, and adds it. Returns 0, or the status to answer. */
static int add_last(struct params *params)
{
    char *entry = (char *)(uintptr_t)params->name.at;
    if (entry == NULL)
        return 0;
    ((char *)(uintptr_t)params->value.at)[params->value.length] = '\0';
    if (variables_add_field(params->variables, entry, params->name.length) < 0)
        return 500;
    note(params, params->variables->count - 1);
    return 0;
}

/* Moves the name up. Returns 0, or the status to answer. */
static int begin_entry(struct params *params, struct span name, struct span value)
{
    char *entry = (char *)(uintptr_t)name.at - 1;
    memmove(entry, name.at, name.length);
    entry[name.length] = '=';
    params->name = span_of(entry, name.length);
    params->value = span_of(entry + name.length + 1, value.length);
    return memchr(entry, '\0', name.length + 1 + value.length) != NULL ? 400 : 0;
}

static int read_pairs(struct params *params)
{
    struct request *request = params->request;
    struct span name, value;
    int result, status, count = 0;
    if (request_gather(request, &request->params, span_of("", 1)) < 0)
        return 500;
    struct span pairs = span_of(request->params.bytes, request->params.length - 1);
    while ((result = record_pair(&pairs, &name, &value)) == 1) {
        if (++count > PAIRS_MAX)
            return 431;
        if ((status = add_last(params)) != 0 || (status = begin_entry(params, name, value)) != 0)
            return status;
    }
    status = add_last(params);
    return result < 0 ? 400 : status;
}

static int join_path(struct params *params, struct span *path)
{
    struct span script = params->script_name, info = params->path_info;
    uint8_t *joined = arena_take(params->variables->arena, script.length + info.length + 1);
    if (joined == NULL)
        return 500;
    if (script.length > 0)
        memcpy(joined, script.at, script.length);
    if (info.length > 0)
        memcpy(joined + script.length, info.at, info.length);
    *path = span_of(joined, script.length + info.length);
    return 0;
}

int params_read(struct request *request, struct variables *variables, struct span *path)
{
    struct params params = {.request = request, .variables = variables};
    int status = read_pairs(&params);
    request->fcgx.envp = variables_end(variables);
    if (status == 0)
        status = join_path(&params, path);
    if (status != 0 || params.content_length.length == 0) /* an empty one is what nginx sends for no body */
        return status;
    request->content_length = span_number(params.content_length);
    return request->content_length < 0 ? 400 : 0;
}
