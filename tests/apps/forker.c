/* forker.c: starts child processes from a handler. The query chooses:
 *   system  the status of `exit 7`
 *   signals which signals a child ignores or blocks, as /proc/self/status prints them: all must be zero
 *   files   the open descriptors of a child, which must be 0, 1 and 2 alone
 *   fork    a child that leaves by exit()
 *   linger  a child that stays for three seconds */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millrace.h>

#ifdef __SANITIZE_ADDRESS__
#define CHILD_EXIT _exit /* the leak check at exit() cannot run in a fork of a program with threads */
#else
#define CHILD_EXIT exit
#endif

static int show(FCGX_Request *req, const char *command)
{
    FILE *pipe = popen(command, "re");
    char line[256];

    if (!pipe)
        return 1;
    while (fgets(line, sizeof line, pipe))
        FCGX_PutS(line, req->out);
    return pclose(pipe);
}

/* What ls has open, with the folder that it lists; a shell's pipeline has pipes of its own for a moment. */
static int show_files(FCGX_Request *req)
{
    FILE *pipe = popen("exec ls -l /proc/self/fd", "re");
    char line[256];

    if (!pipe)
        return 1;
    while (fgets(line, sizeof line, pipe)) {
        char *arrow = strstr(line, " -> ");

        while (arrow && arrow > line && arrow[-1] >= '0' && arrow[-1] <= '9')
            arrow--;
        if (arrow)
            FCGX_PutS(arrow, req->out);
    }
    return pclose(pipe);
}

static int forker(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    int status = -1;

    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    if (!query)
        return 1;
    if (strcmp(query, "signals") == 0)
        return show(req, "grep -E '^Sig(Blk|Ign)' /proc/self/status");
    if (strcmp(query, "files") == 0)
        return show_files(req);
    if (strcmp(query, "system") == 0)
        status = system("exit 7");
    if (strcmp(query, "linger") == 0) {
        pid_t child = fork();

        if (child == 0) {
            sleep(3);
            _exit(0);
        }
    }
    if (strcmp(query, "fork") == 0) {
        pid_t child = fork();

        if (child == 0)
            CHILD_EXIT(9); /* the runtime must not take this for its own end */
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 1;
    }
    mr_printf(req->out, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "forker", .handle = forker};
