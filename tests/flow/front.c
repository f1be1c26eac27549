/* front.c: starts and ends nginx in the server's directory; asks it over HTTP/1.1. */
#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.h"
#include "suite.h"

enum { FRONT_HEAD_MAX = 65536, FRONT_READ_MS = 30000 };

static struct front front_one;

/* -- Process --------------------------------------------------------------------------------------------------------
 */

static void front_end(void)
{
    if (front_one.pid > 0) {
        kill(front_one.pid, SIGQUIT);
        waitpid(front_one.pid, NULL, 0);
    }
    front_one.pid = 0;
}

static void front_write_location(FILE *conf, const char *location, const char *more)
{
    fprintf(conf, "location %s { include millrace.fastcgi; fastcgi_pass server; %s }\n", location, more);
}

/* The shipped files, where nginx looks for what is included: beside its configuration. */
static void front_link_shipped(const struct server *server, const char *name)
{
    char root[512], from[640], to[SERVER_PATH_MAX + 40];

    SUITE_CHECK(getcwd(root, sizeof root), "getcwd: %s", strerror(errno));
    snprintf(from, sizeof from, "%s/nginx-conf/%s", root, name);
    snprintf(to, sizeof to, "%s/%s", server->directory, name);
    SUITE_CHECK(symlink(from, to) == 0, "%s: %s", to, strerror(errno));
}

static void front_write_conf(const struct server *server, int port)
{
    static const char *const folders[] = {"client_body", "fastcgi", "proxy", "uwsgi", "scgi"};
    const char *directory = server->directory;
    char path[SERVER_PATH_MAX + 20];
    FILE *conf;

    front_link_shipped(server, "millrace.fastcgi");
    front_link_shipped(server, "millrace.params");
    snprintf(path, sizeof path, "%s/nginx.conf", directory);
    conf = fopen(path, "we");
    SUITE_CHECK(conf, "%s: %s", path, strerror(errno));
    if (geteuid() == 0)
        fprintf(conf, "user www-data;\n");
    fprintf(conf, "worker_processes 1; daemon off; pid %s/nginx.pid; error_log %s/nginx.log;\n", directory, directory);
    fprintf(conf, "events { worker_connections 512; }\nhttp { client_max_body_size 64m;\n");
    /* How often each request was sent on. */
    fprintf(conf, "log_format upstream '$request_method $upstream_status';\n");
    fprintf(conf, "access_log %s/upstream.log upstream;\n", directory);
    fprintf(conf, "large_client_header_buffers 4 64k; keepalive_requests 1000000;\n");
    for (size_t i = 0; i < SUITE_COUNT(folders); i++)
        fprintf(conf, "%s_temp_path %s/%s;\n", folders[i], directory, folders[i]);
    fprintf(conf, "upstream server { server %s; keepalive 16; keepalive_requests 1000000; }\n", server->local);
    fprintf(conf, "server { listen 127.0.0.1:%d;\n", port);
    front_write_location(conf, "/", "");
    front_write_location(conf, "~ ^/unbuffered(/.*)$",
                         "fastcgi_param SCRIPT_NAME $1; fastcgi_buffering off; fastcgi_request_buffering off;");
    fprintf(conf, "} }\n");
    fclose(conf);
}

static void front_run(const struct server *server)
{
    char conf[SERVER_PATH_MAX + 20], log[SERVER_PATH_MAX + 20];
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    snprintf(conf, sizeof conf, "%s/nginx.conf", server->directory);
    snprintf(log, sizeof log, "%s/nginx.log", server->directory);
    for (int i = 0; i <= 2; i++)
        dup2(fd, i);
    execlp("nginx", "nginx", "-e", log, "-c", conf, (char *)NULL);
    execl("/usr/sbin/nginx", "nginx", "-e", log, "-c", conf, (char *)NULL);
    _exit(127);
}

static bool front_answers(void *front)
{
    struct link *link = link_try_new(((struct front *)front)->address);

    link_free(link);
    return link != NULL;
}

struct front *front_start(const struct server *server)
{
    static bool registered;
    int port = server_free_port();

    front_end();
    if (!registered)
        atexit(front_end);
    registered = true;
    front_write_conf(server, port);
    snprintf(front_one.address, sizeof front_one.address, "127.0.0.1:%d", port);
    front_one.pid = fork();
    if (front_one.pid == 0)
        front_run(server);
    SUITE_CHECK(front_one.pid > 0, "fork: %s", strerror(errno));
    if (!deadline_wait(DEADLINE_USUAL_MS, front_answers, &front_one))
        SUITE_FAIL("nginx does not answer: %s", server_last_line(server, "nginx.log"));
    return &front_one;
}

int front_log_count(const struct server *server, const char *text)
{
    return server_count_lines(server, "nginx.log", text);
}

/* -- HTTP -----------------------------------------------------------------------------------------------------------
 */

void front_fini(struct front_answer *answer)
{
    bytes_fini(&answer->head);
    bytes_fini(&answer->body);
}

void front_send(struct link *link, const char *path, const char *headers, const void *body, size_t length)
{
    struct bytes request = {0};
    char line[1024];

    snprintf(line, sizeof line, "%s %s HTTP/1.1\r\nHost: front\r\n", body ? "POST" : "GET", path);
    bytes_add(&request, line, strlen(line));
    if (headers)
        bytes_add(&request, headers, strlen(headers));
    if (body) {
        snprintf(line, sizeof line, "Content-Length: %zu\r\n", length);
        bytes_add(&request, line, strlen(line));
    }
    bytes_add(&request, "\r\n", 2);
    if (body)
        bytes_add(&request, body, length);
    link_send(link, request.data, request.length);
    bytes_fini(&request);
}

/* Byte by byte: nothing of the body is taken with it. */
static void front_read_line(struct link *link, struct bytes *to)
{
    char byte = 0;

    while (byte != '\n') {
        link_read(link, &byte, 1, FRONT_READ_MS);
        bytes_add(to, &byte, 1);
        SUITE_CHECK(to->length < FRONT_HEAD_MAX, "a head without end");
    }
}

static void front_read_head(struct front_answer *answer, struct link *link)
{
    size_t before;

    bytes_clear(&answer->head);
    do {
        before = answer->head.length;
        front_read_line(link, &answer->head);
    } while (answer->head.length - before > 2);
    answer->status = 0;
    SUITE_CHECK(sscanf(bytes_text(&answer->head), "HTTP/1.1 %d", &answer->status) == 1, "no HTTP answer: %.80s",
                bytes_text(&answer->head));
}

static void front_read_bytes(struct link *link, struct bytes *to, size_t length)
{
    char piece[16384];

    while (length > 0) {
        size_t part = length < sizeof piece ? length : sizeof piece;

        link_read(link, piece, part, FRONT_READ_MS);
        bytes_add(to, piece, part);
        length -= part;
    }
}

static void front_read_chunks(struct link *link, struct bytes *to)
{
    struct bytes line = {0};
    size_t length;

    do {
        bytes_clear(&line);
        front_read_line(link, &line);
        length = strtoul(bytes_text(&line), NULL, 16);
        front_read_bytes(link, to, length);
        bytes_clear(&line);
        front_read_line(link, &line); /* what ends the chunk, or the chunks */
    } while (length > 0);
    bytes_fini(&line);
}

void front_read(struct front_answer *answer, struct link *link)
{
    const char *length;

    front_read_head(answer, link);
    bytes_clear(&answer->body);
    length = strstr(bytes_text(&answer->head), "Content-Length: ");
    if (length)
        front_read_bytes(link, &answer->body, strtoul(length + strlen("Content-Length: "), NULL, 10));
    else if (strstr(bytes_text(&answer->head), "Transfer-Encoding: chunked"))
        front_read_chunks(link, &answer->body);
}

void front_ask(struct front_answer *answer, struct link *link, const char *path, const void *body, size_t length)
{
    front_send(link, path, NULL, body, length);
    front_read(answer, link);
}
