/* asker.c: answers with what mr_query, mr_form and mr_body give, as PATH_INFO says, a word after the other:
 *
 *     /query/NAME, /form/NAME    [value], or - for NULL
 *     /body                      the length and [bytes]
 *     /in                        [what req->in gives, to its end]
 *     /byte                      [one byte of req->in]
 *     /flush                     sends what is there
 *     /many/N                    asks mr_form for N names of fields: how many there are */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static void put_value(FCGX_Request *req, const char *value)
{
    if (value == NULL)
        FCGX_PutS("-", req->out);
    else
        mr_printf(req->out, "[%s]", value);
}

static void put_body(FCGX_Request *req)
{
    size_t length;
    const char *body = mr_body(req, &length);
    if (body == NULL) {
        put_value(req, NULL);
        return;
    }
    mr_printf(req->out, "%zu%s[", length, body[length] == '\0' ? "" : " and no NUL");
    FCGX_PutStr(body, (int)length, req->out);
    FCGX_PutS("]", req->out);
}

static void put_input(FCGX_Request *req, int limit)
{
    int byte;
    FCGX_PutS("[", req->out);
    while (limit-- != 0 && (byte = FCGX_GetChar(req->in)) != EOF)
        FCGX_PutChar(byte, req->out);
    FCGX_PutS("]", req->out);
}

static void put_count(FCGX_Request *req, int asked)
{
    char name[32];
    int found = 0;
    for (int i = 0; i < asked; i++) {
        snprintf(name, sizeof name, "f%d", i);
        found += mr_form(req, name) != NULL;
    }
    mr_printf(req->out, "%d", found);
}

static int asker(FCGX_Request *req)
{
    const char *path = FCGX_GetParam("PATH_INFO", req->envp);
    char *words = strdup(path == NULL ? "" : path), *rest = words, *word;
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    while ((word = strtok_r(NULL, "/", &rest)) != NULL) {
        if (strcmp(word, "query") == 0)
            put_value(req, mr_query(req, strtok_r(NULL, "/", &rest)));
        else if (strcmp(word, "form") == 0)
            put_value(req, mr_form(req, strtok_r(NULL, "/", &rest)));
        else if (strcmp(word, "body") == 0)
            put_body(req);
        else if (strcmp(word, "in") == 0)
            put_input(req, -1);
        else if (strcmp(word, "byte") == 0)
            put_input(req, 1);
        else if (strcmp(word, "many") == 0)
            put_count(req, atoi(strtok_r(NULL, "/", &rest)));
        else if (strcmp(word, "flush") == 0)
            FCGX_FFlush(req->out);
    }
    free(words);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "asker", .handle = asker};
