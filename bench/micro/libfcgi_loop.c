/*
 * libfcgi_loop.c: the classic way to write a FastCGI application: threads that each loop around libfcgi's FCGX_Accept_r.
 * Answers every request with the 450-byte page of /hello. For comparison.
 *
 *   libfcgi_loop SOCKET THREADS
 *
 * Whether connections are kept is the front end's choice (fastcgi_keep_conn). Ends with SIGTERM.
 */
#include <fcgiapp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BODY_BYTES 450

static char page[BODY_BYTES + 1];
static int listener;

static void *loop(void *unused)
{
    FCGX_Request request;
    FCGX_InitRequest(&request, listener, 0);
    while (FCGX_Accept_r(&request) >= 0) {
        FCGX_PutS("Content-Type: text/html\r\nCache-Control: no-store\r\nContent-Length: 450\r\n\r\n", request.out);
        FCGX_PutStr(page, BODY_BYTES, request.out);
        FCGX_Finish_r(&request);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[2]) : 0;
    if (threads < 1 || threads > 1000) {
        fprintf(stderr, "usage: libfcgi_loop SOCKET THREADS (1 to 1000)\n");
        return 2;
    }
    memset(page, 'x', BODY_BYTES);
    FCGX_Init();
    unlink(argv[1]);
    listener = FCGX_OpenSocket(argv[1], 4096);
    if (listener < 0 || chmod(argv[1], 0666) < 0) {
        fprintf(stderr, "libfcgi_loop: cannot listen on %s\n", argv[1]);
        return 1;
    }
    pthread_t id = 0;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&id, NULL, loop, NULL) != 0)
            return 1;
    pthread_join(id, NULL);
    return 0;
}
