/*
 * env.c: shows what the request brought along, one `NAME=value` a line, sorted: what the front end passes on is seen at
 * a glance and can be compared. Only the request's variables, never the process's environment, which may hold secrets.
 */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

/* Plain text that no browser takes for anything else: values come from outside. */
#define HEADER                                                                                                         \
    "Content-Type: text/plain; charset=utf-8\r\n"                                                                      \
    "X-Content-Type-Options: nosniff\r\n"                                                                              \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A line is a variable: control characters become \xNN, as in the log. */
static void put_line(const char *text, FCGX_Stream *out)
{
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != 0x7f)
            plain++;
        FCGX_PutStr(text, (int)plain, out);
        text += plain;
        if (*text != '\0')
            mr_printf(out, "\\x%02x", (unsigned char)*text++);
    }
    FCGX_PutChar('\n', out);
}

static int env(FCGX_Request *req)
{
    size_t count = 0;
    while (req->envp[count] != NULL)
        count++;
    char **sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        mr_log(req, "no memory to sort %zu variables", count);
        return 1; /* nothing was written: the runtime answers 500 */
    }
    memcpy(sorted, req->envp, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    FCGX_PutStr(HEADER, sizeof HEADER - 1, req->out);
    for (size_t i = 0; i < count; i++)
        put_line(sorted[i], req->out);
    free(sorted);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "env", .handle = env};
