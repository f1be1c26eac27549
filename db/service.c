/* service.c: see service.h. */
#include "service.h"

#include <pthread.h>
#include <stdlib.h>

/* Changed under the lock. A reader needs none: an entry is whole before its release makes it visible, and none goes
 * while requests run. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct service *_Atomic first;

static struct service *make(struct mr_route *route, const struct pg_statement *statements, int count)
{
    struct service *service = calloc(1, sizeof *service);
    if (service == NULL) {
        mr_route_log(route, "no memory for the database");
        return NULL;
    }
    if (options_read(&service->options, route) < 0) {
        free(service);
        return NULL;
    }
    if (hosts_read(&service->hosts, &service->options) < 0) {
        mr_route_log(route, "no memory for the database");
        options_fini(&service->options);
        free(service);
        return NULL;
    }
    service->route = route;
    service->statements = statements;
    service->statement_count = count;
    report_init(&service->report, route);
    figures_start(&service->figures, route);
    return service;
}

struct service *service_new(struct mr_route *route, const struct pg_statement *statements, int count)
{
    if (service_of(route) != NULL) {
        mr_route_log(route, "pg_start was called twice for this route");
        return NULL;
    }
    struct service *service = make(route, statements, count);
    if (service == NULL)
        return NULL;
    pthread_mutex_lock(&changing);
    service->next = atomic_load_explicit(&first, memory_order_relaxed);
    atomic_store_explicit(&first, service, memory_order_release); /* pairs with service_of */
    pthread_mutex_unlock(&changing);
    return service;
}

void service_free(struct service *service)
{
    pthread_mutex_lock(&changing);
    struct service *head = atomic_load_explicit(&first, memory_order_relaxed);
    struct service **at = &head;
    while (*at != service)
        at = &(*at)->next;
    *at = service->next;
    atomic_store_explicit(&first, head, memory_order_release);
    pthread_mutex_unlock(&changing);
    hosts_fini(&service->hosts);
    options_fini(&service->options);
    free(service);
}

struct service *service_of(const struct mr_route *route)
{
    struct service *service = atomic_load_explicit(&first, memory_order_acquire);
    while (service != NULL && service->route != route)
        service = service->next;
    return service;
}

struct service *service_of_request(const FCGX_Request *req)
{
    return service_of(mr_lane_route(mr_lane(req)));
}

int service_statement(struct service *service, const struct pg_statement *statement, int values)
{
    ptrdiff_t number = statement - service->statements;
    if (number < 0 || number >= service->statement_count) {
        report_write(&service->report, REPORT_MISUSE, "a statement that was not in pg_start's table", statement->sql);
        return -1;
    }
    if (values != statement->parameters) {
        report_write(&service->report, REPORT_MISUSE, "another number of values than the statement's parameters",
                     statement->sql);
        return -1;
    }
    return (int)number;
}
