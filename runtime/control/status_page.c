/*
 * status_page.c: a snapshot as a web page. What came from outside is escaped; the page loads nothing from elsewhere.
 */
#include "control/status_page.h"

#include <inttypes.h>
#include <stdbool.h>

#include "control/figure.h"
#include "control/rates.h"
#include "control/status_look.h"
#include "control/visible.h"

static const double shares[] = {0.5, 0.99, 0.999};

static void put_html(FILE *to, const char *bytes)
{
    char text[VISIBLE_ROOM(SETTINGS_PATH_BYTES)];
    for (const char *at = visible_copy(text, sizeof text, bytes); *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", to);
            break;
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        case '\'':
            fputs("&#39;", to);
            break;
        default:
            fputc(*at, to);
        }
    }
}

static void put_count(FILE *to, uint64_t count)
{
    fprintf(to, "<td>%s</td>", figure_count(count).text);
}

/* What should be 0. */
static void put_faults(FILE *to, uint64_t count)
{
    fprintf(to, count > 0 ? "<td class=\"bad\">%s</td>" : "<td>%s</td>", figure_count(count).text);
}

static void put_tile(FILE *to, const char *title, const char *text)
{
    fprintf(to, "<div><dt>%s</dt><dd>%s</dd></div>", title, text);
}

/* -- how the server is --------------------------------------------------------------------------------------------- */

static void put_state(FILE *to, const struct snapshot *snapshot)
{
    struct status_sums sums = status_sum(snapshot);
    char busy[64];
    snprintf(busy, sizeof busy, "%d <span class=\"quiet\">of %d</span>", sums.threads_busy, sums.threads);
    fputs("<dl>", to);
    put_tile(to, "up", figure_age(snapshot->uptime_us).text);
    put_tile(to, "generation", figure_count((uint64_t)snapshot->generation).text);
    put_tile(to, "workers serving", figure_count((uint64_t)sums.serving).text);
    put_tile(to, "threads busy", busy);
    put_tile(to, "requests queued", figure_count((uint64_t)snapshot->queued).text);
    put_tile(to, "suspended", figure_count((uint64_t)snapshot->suspended).text);
    put_tile(to, "connections", figure_count((uint64_t)sums.connections).text);
    put_tile(to, "of those idle", figure_count((uint64_t)snapshot->idle).text);
    fputs("</dl>", to);
}

static void put_events(FILE *to, const struct snapshot *snapshot)
{
    fputs("<dl class=\"small\">", to);
    for (int i = 0; i < LEDGER_EVENTS; i++) {
        bool is_good = i == LEDGER_RECYCLED || i == LEDGER_RELOADS || i == LEDGER_UPGRADES;
        fprintf(to, "<div title=\"%s\"><dt>", status_events[i].help);
        for (const char *at = status_events[i].name; *at != '\0'; at++)
            fputc(*at == '_' ? ' ' : *at, to);
        fprintf(to, "</dt><dd%s>%s</dd></div>", is_good || snapshot->events[i] == 0 ? "" : " class=\"bad\"",
                figure_count(snapshot->events[i]).text);
    }
    fputs("</dl>", to);
}

/* -- threads ------------------------------------------------------------------------------------------------------- */

static void put_thread(FILE *to, const struct snapshot *snapshot, const struct snapshot_thread *thread)
{
    fprintf(to, "<tr><td>%s</td><td class=\"l uri\"><code>", figure_elapsed(thread->elapsed_us).text);
    put_html(to, thread->method);
    fputc(' ', to);
    put_html(to, thread->uri);
    fputs("</code></td><td class=\"l\">", to);
    put_html(to, thread->route);
    fprintf(to, "</td><td>%d</td><td>%d</td><td>%" PRIu64 "</td></tr>", (int)snapshot->workers[thread->worker].pid,
            thread->number, thread->request);
}

static void put_threads(FILE *to, const struct snapshot *snapshot)
{
    int shown = snapshot->thread_count < STATUS_THREADS_SHOWN ? snapshot->thread_count : STATUS_THREADS_SHOWN;
    fputs("<h2>What the threads are doing <small>longest first</small></h2>"
          "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Threads\">",
          to);
    if (shown == 0) {
        fputs("<p class=\"empty\">No handler is running.</p></div>", to);
        return;
    }
    fputs("<table><thead><tr><th>for</th><th class=\"l\">request</th><th class=\"l\">route</th><th>process</th>"
          "<th>thread</th><th>number</th></tr></thead><tbody>",
          to);
    for (int i = 0; i < shown; i++)
        put_thread(to, snapshot, &snapshot->threads[i]);
    fputs("</tbody></table></div>", to);
    if (snapshot->thread_count > shown)
        fprintf(to, "<p class=\"quiet\">and %d more</p>", snapshot->thread_count - shown);
}

/* -- routes -------------------------------------------------------------------------------------------------------- */

static void put_times(FILE *to, const struct histogram *histogram)
{
    bool is_empty = histogram_count(histogram) == 0;
    for (int i = 0; i < 3; i++)
        fprintf(to, "<td%s>%s</td>", i == 0 ? " class=\"first\"" : "",
                is_empty ? "–" : figure_ms(histogram_quantile_us(histogram, shares[i])).text);
}

static void put_route(FILE *to, const struct snapshot *snapshot, const struct snapshot_route *route)
{
    fputs("<tr><th scope=\"row\" class=\"l\">", to);
    if (route->path[0] != '\0')
        put_html(to, route->path);
    else
        fputs("<span class=\"quiet\">no route</span>", to);
    fprintf(to, "</th><td>%s</td>", figure_rate(rates_of(snapshot, route)).text);
    put_count(to, route->requests);
    put_faults(to, route->errors);
    put_faults(to, route->refused);
    put_times(to, &route->queue);
    put_times(to, &route->handler);
    fputs("</tr>", to);
}

static void put_routes(FILE *to, const struct snapshot *snapshot)
{
    fputs("<h2>Routes</h2><div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Routes\"><table><thead>"
          "<tr><th class=\"l\" rowspan=\"2\">route</th><th rowspan=\"2\">per second</th><th rowspan=\"2\">requests</th>"
          "<th rowspan=\"2\">errors</th><th rowspan=\"2\">refused</th>"
          "<th class=\"group first\" colspan=\"3\">wait in the queue, ms</th>"
          "<th class=\"group first\" colspan=\"3\">handler, ms</th></tr>"
          "<tr><th class=\"first\">50 %</th><th>99 %</th><th>99.9 %</th>"
          "<th class=\"first\">50 %</th><th>99 %</th><th>99.9 %</th></tr></thead><tbody>",
          to);
    for (int i = 0; i < snapshot->route_count; i++)
        put_route(to, snapshot, &snapshot->routes[i]);
    fputs("</tbody></table></div>", to);
}

/* -- figures of applications --------------------------------------------------------------------------------------- */

static void put_figure(FILE *to, const struct app_figure *figure)
{
    uint64_t amount = figure->value < 0 ? -(uint64_t)figure->value : (uint64_t)figure->value;
    fprintf(to, "<tr><th scope=\"row\" class=\"l\">%s</th><td>%s%s</td><td class=\"l\">%s</td><td class=\"l help\">",
            figure->name, figure->value < 0 ? "\u2212" : "", figure_count(amount).text,
            figure->counts ? "so far" : "now");
    put_html(to, figure->help);
    fputs("</td></tr>", to);
}

static void put_figures(FILE *to, const struct snapshot_route *route)
{
    if (route->figure_count == 0)
        return;
    fputs("<h2>Figures of ", to);
    put_html(to, route->path);
    fputs("</h2><div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Figures of ", to);
    put_html(to, route->path);
    fputs("\"><table><thead><tr><th class=\"l\">figure</th><th>value</th><th class=\"l\">counted</th>"
          "<th class=\"l\">what it is</th></tr></thead><tbody>",
          to);
    for (int i = 0; i < route->figure_count; i++)
        put_figure(to, &route->figures[i].is);
    fputs("</tbody></table></div>", to);
}

/* -- workers ------------------------------------------------------------------------------------------------------- */

static void put_worker(FILE *to, const struct snapshot_worker *worker)
{
    const char *state = status_state_name(worker->state);
    fprintf(to, "<tr><th scope=\"row\">%d</th><td class=\"l %s\">%s</td><td>%d</td><td>%s</td><td>%d of %d</td>",
            worker->number, state, state, (int)worker->pid, figure_age(worker->uptime_us).text, worker->threads_busy,
            worker->threads);
    put_count(to, (uint64_t)worker->connections);
    put_count(to, (uint64_t)worker->idle);
    put_count(to, (uint64_t)worker->queued);
    put_count(to, worker->requests);
    fputs("</tr>", to);
}

static void put_workers(FILE *to, const struct snapshot *snapshot)
{
    fputs("<h2>Workers</h2><div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Workers\"><table><thead><tr>"
          "<th>worker</th><th class=\"l\">state</th><th>process</th><th>up</th><th>busy threads</th>"
          "<th>connections</th><th>idle</th><th>queued</th><th>requests</th></tr></thead>",
          to);
    for (int i = 0; i < snapshot->worker_count; i++) {
        const struct snapshot_worker *worker = &snapshot->workers[i];
        if (i == 0 || worker->generation != worker[-1].generation)
            fprintf(to, "%s<tbody><tr><th scope=\"rowgroup\" colspan=\"9\">generation %d%s</th></tr>",
                    i == 0 ? "" : "</tbody>", worker->generation,
                    worker->generation < snapshot->generation ? ", on its way out" : "");
        put_worker(to, worker);
    }
    fputs(snapshot->worker_count > 0 ? "</tbody></table></div>" : "</table></div>", to);
}

/* -- the page ------------------------------------------------------------------------------------------------------ */

static void put_top(FILE *to, const struct snapshot *snapshot, const char *nonce)
{
    char title[40];
    snprintf(title, sizeof title, "Millrace: %d busy", snapshot->thread_count);
    fprintf(to,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
            "<title>%s</title><link rel=\"icon\" href=\"data:,\">"
            "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>"
            "<style nonce=\"%s\">%s</style></head>\n"
            "<body><p id=\"lost\" role=\"status\"></p>\n<main data-title=\"%s\">\n"
            "<section id=\"server\"><h1>Millrace</h1><p class=\"quiet\">version %s, process %d</p></section>\n",
            title, nonce, status_look_style, title, MR_VERSION, (int)snapshot->master);
}

static void put_bottom(FILE *to, const char *nonce)
{
    fprintf(to,
            "</main>\n<footer>The same as <a href=\"/status.json\">JSON</a>, <a href=\"/metrics\">metrics</a>"
            " and <a href=\"/status.txt\">text</a>.</footer>\n<script nonce=\"%s\">\n%s</script></body></html>\n",
            nonce, status_look_script);
}

void status_page_print(FILE *to, const struct snapshot *snapshot, const char *nonce)
{
    put_top(to, snapshot, nonce);
    fputs("<section id=\"state\">", to);
    put_state(to, snapshot);
    put_events(to, snapshot);
    fputs("</section>\n<section id=\"threads\">", to);
    put_threads(to, snapshot);
    fputs("</section>\n<section id=\"routes\">", to);
    put_routes(to, snapshot);
    fputs("</section>\n<section id=\"figures\">", to);
    for (int i = 0; i < snapshot->route_count; i++)
        put_figures(to, &snapshot->routes[i]);
    fputs("</section>\n<section id=\"workers\">", to);
    put_workers(to, snapshot);
    fputs("</section>\n", to);
    put_bottom(to, nonce);
}
