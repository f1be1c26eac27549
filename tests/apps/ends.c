/* ends.c: asks for one call at its end for each letter of the query, which writes it; that of X asks for another one,
 * x. */
#include <stdlib.h>

#include <millrace.h>

struct letter {
    FCGX_Request *request;
    char letter;
};

static void ask(FCGX_Request *req, char letter);

static void put(void *arg)
{
    struct letter *letter = arg;
    if (letter->letter == 'X')
        ask(letter->request, 'x');
    FCGX_PutChar(letter->letter, letter->request->out);
    free(letter);
}

static void ask(FCGX_Request *req, char letter)
{
    struct letter *made = malloc(sizeof *made);
    if (made == NULL)
        return;
    *made = (struct letter){req, letter};
    if (mr_at_end(req, put, made) < 0)
        free(made);
}

static int on_wake(FCGX_Request *req, enum mr_wake why, void *arg)
{
    (void)why;
    (void)arg;
    FCGX_PutS("woken ", req->out);
    return 7;
}

/* One whose path has something behind the route is suspended in between. */
static int ends(FCGX_Request *req)
{
    for (const char *letter = FCGX_GetParam("QUERY_STRING", req->envp); *letter != '\0'; letter++)
        ask(req, *letter);
    FCGX_PutS("Content-Type: text/plain\r\n\r\nhandler ", req->out);
    if (*FCGX_GetParam("PATH_INFO", req->envp) != '\0')
        mr_resume(mr_suspend(req, on_wake, NULL));
    return 7;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "ends", .handle = ends};
