/* direct.c: starts servers with HTTP listeners and looks at what requests have left in them. */
#include "direct.h"

#include <stdio.h>
#include <string.h>

#include "deadline.h"
#include "http.h"
#include "suite.h"

static struct {
    struct server *server;
    bool is_shared;
    char address[32], local[SERVER_PATH_MAX + 60];
    struct process_children workers; /* at the start */
    long descriptors;
} direct;

struct server *direct_start(const char *options)
{
    static int number; /* workers of a server that was killed may still listen for a moment */
    char all[2048], name[16];

    direct.is_shared = false;
    snprintf(name, sizeof name, "http%d", ++number);
    snprintf(direct.address, sizeof direct.address, "127.0.0.1:%d", server_free_port());
    snprintf(direct.local, sizeof direct.local, "unix:%s", server_scratch(name));
    snprintf(all, sizeof all, "http = { \"%s\", \"%s\" }\n%s", direct.address, direct.local, options ? options : "");
    direct.server = server_start(all);
    direct.workers = server_workers_without(direct.server, 0);
    direct.descriptors = server_sum(direct.server, process_descriptor_count);
    return direct.server;
}

struct server *direct_shared(void)
{
    link_free_all();
    if (!direct.is_shared || direct.server->pid == 0 || !process_runs(direct.server->pid))
        direct_start(NULL);
    direct.is_shared = true;
    return direct.server;
}

const char *direct_address(void)
{
    return direct.address;
}

const char *direct_local(void)
{
    return direct.local;
}

static bool direct_has_its_descriptors(void *context)
{
    (void)context;
    return server_sum(direct.server, process_descriptor_count) == direct.descriptors;
}

void direct_check_settled(void)
{
    static struct http_answer answer;
    struct process_children now;

    link_free_all();
    http_ask(&answer, direct.address, "GET /hello HTTP/1.0\r\n\r\n");
    CU_ASSERT_EQUAL(answer.status, 200);
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, direct_has_its_descriptors, NULL), "%ld descriptors, %ld at the start",
                server_sum(direct.server, process_descriptor_count), direct.descriptors);
    now = server_workers(direct.server);
    SUITE_CHECK(now.count == direct.workers.count &&
                    memcmp(now.pids, direct.workers.pids, now.count * sizeof now.pids[0]) == 0,
                "other workers than at the start: %s", server_last_line(direct.server, "log"));
}
