/*
 * status_page.c: a snapshot as a web page. What came from outside is escaped; the page loads nothing from elsewhere.
 */
#include "control/status_page.h"

#include <inttypes.h>

#include "base/clock.h"
#include "control/rates.h"

#define THREADS_MAX 200

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c2430;--quiet:#56606e;--paper:#fbfbf9;--line:#d9dce1;--head:#eef0f3;--bad:#a8201a}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--quiet:#a3abb6;--paper:#14181d;--line:#333a44;--head:#"
    "1e242c;"
    "--bad:#ff8f85}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:76rem;padding:1rem;font:15px/1.45 system-ui,sans-serif;"
    "color:var(--ink);background:var(--paper)}h1{font-size:1.3rem;margin:0 0 .2rem}h2{font-size:1rem;margin:1.4rem 0 "
    ".4rem}"
    "p{margin:.2rem 0;color:var(--quiet)}.end{margin-top:1rem}a{color:inherit}.box{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:.3rem "
    ".6rem;text-align:right;"
    "white-space:nowrap;border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}th{background:var(--head);"
    "font-weight:600;color:var(--quiet)}th.l,td.l{text-align:left}td.wide{white-space:normal;overflow-wrap:anywhere;"
    "min-width:14rem}.bad{color:var(--bad);font-weight:600}dl{display:flex;flex-wrap:wrap;gap:.3rem "
    "1.6rem;margin:.6rem 0}"
    "dt{color:var(--quiet)}dd{margin:0;font-variant-numeric:tabular-nums}dl div{display:flex;gap:.4rem}";

/* Only <main> changes: nothing flickers, and the place on the page stays. Nothing else of the new page is parsed, whose style
 * this page's policy would not let by. */
static const char script[] =
    "const every=2000;async function again(){try{const answer=await fetch(location.href,{cache:'no-store'});"
    "const text=await answer.text(),part=text.slice(text.indexOf('<main'),text.indexOf('</main>')+7);"
    "const main=new DOMParser().parseFromString(part,'text/html').querySelector('main');"
    "document.querySelector('main').replaceWith(main);"
    "document.title='Millrace: '+main.dataset.busy+' busy'}catch(e){document.title='Millrace does not answer'}"
    "setTimeout(again,every)}setTimeout(again,every);";

static void put_html(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '&')
            fputs("&amp;", to);
        else if (byte == '<')
            fputs("&lt;", to);
        else if (byte == '>')
            fputs("&gt;", to);
        else if (byte == '"')
            fputs("&quot;", to);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(to, "\\x%02x", byte);
        else
            fputc(byte, to);
    }
}

static void put_number(FILE *to, uint64_t number, bool bad)
{
    fprintf(to, "<td%s>%" PRIu64 "</td>", bad && number > 0 ? " class=\"bad\"" : "", number);
}

static void put_times(FILE *to, const struct histogram *histogram)
{
    static const double shares[] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++)
        fprintf(to, "<td>%.3f</td>", (double)histogram_quantile_us(histogram, shares[i]) / 1000);
}

static void put_summary(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "<h1>Millrace</h1><p>Version %s, process %d, up %.0f s, generation %d.</p><dl>", MR_VERSION,
            (int)snapshot->master, (double)snapshot->uptime_us / CLOCK_SECOND, snapshot->generation);
    fprintf(to,
            "<div><dt>idle connections</dt><dd>%d</dd></div><div><dt>queued requests</dt><dd>%d</dd></div>"
            "<div><dt>suspended requests</dt><dd>%d</dd></div>",
            snapshot->idle, snapshot->queued, snapshot->suspended);
    for (int i = 0; i < LEDGER_EVENTS; i++) {
        fprintf(to, "<div title=\"%s\"><dt>", status_events[i].help);
        for (const char *at = status_events[i].name; *at != '\0'; at++)
            fputc(*at == '_' ? ' ' : *at, to);
        fprintf(to, "</dt><dd>%" PRIu64 "</dd></div>", snapshot->events[i]);
    }
    fputs("</dl>", to);
}

static void put_routes(FILE *to, const struct snapshot *snapshot)
{
    fputs(
        "<h2>Routes</h2><div class=\"box\" tabindex=\"0\"><table id=\"routes\"><thead><tr><th "
        "class=\"l\">route<th>requests"
        "<th>per second<th>errors<th>refused<th>queue 50 %, ms<th>99 %<th>99.9 %<th>handler 50 %, ms<th>99 %<th>99.9 %"
        "</tr></thead><tbody>",
        to);
    for (int i = 0; i < snapshot->route_count; i++) {
        const struct snapshot_route *route = &snapshot->routes[i];
        double rate = rates_of(snapshot, route);
        fputs("<tr><td class=\"l\">", to);
        put_html(to, route->path[0] != '\0' ? route->path : "(no route)");
        fputs("</td>", to);
        put_number(to, route->requests, false);
        if (rate >= 0)
            fprintf(to, "<td>%.0f</td>", rate);
        else
            fputs("<td>–</td>", to);
        put_number(to, route->errors, true);
        put_number(to, route->refused, true);
        put_times(to, &route->queue);
        put_times(to, &route->handler);
        fputs("</tr>", to);
    }
    fputs("</tbody></table></div>", to);
}

static void put_workers(FILE *to, const struct snapshot *snapshot)
{
    fputs("<h2>Workers</h2><div class=\"box\" tabindex=\"0\"><table id=\"workers\"><thead><tr><th>process<th>worker"
          "<th>generation<th class=\"l\">state<th>up, s<th>busy threads<th>connections<th>idle<th>queued<th>requests"
          "</tr></thead><tbody>",
          to);
    for (int i = 0; i < snapshot->worker_count; i++) {
        const struct snapshot_worker *worker = &snapshot->workers[i];
        fprintf(to,
                "<tr><td>%d</td><td>%d</td><td>%d</td><td class=\"l\">%s</td><td>%.0f</td><td>%d of %d</td><td>%d</td>"
                "<td>%d</td><td>%d</td><td>%" PRIu64 "</td></tr>",
                (int)worker->pid, worker->number, worker->generation, status_state_name(worker->state),
                (double)worker->uptime_us / CLOCK_SECOND, worker->threads_busy, worker->threads, worker->connections,
                worker->idle, worker->queued, worker->requests);
    }
    fputs("</tbody></table></div>", to);
}

static void put_threads(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "<h2>What the threads are doing</h2>");
    if (snapshot->thread_count == 0) {
        fputs("<p>No handler is running.</p>", to);
        return;
    }
    fputs("<div class=\"box\" tabindex=\"0\"><table id=\"threads\"><thead><tr><th>process<th>thread<th>request<th>ms"
          "<th class=\"l\">route<th class=\"l\">request line</tr></thead><tbody>",
          to);
    for (int i = 0; i < snapshot->thread_count && i < THREADS_MAX; i++) {
        const struct snapshot_thread *thread = &snapshot->threads[i];
        fprintf(to, "<tr><td>%d</td><td>%d</td><td>%" PRIu64 "</td><td>%.1f</td><td class=\"l\">",
                (int)snapshot->workers[thread->worker].pid, thread->number, thread->request,
                (double)thread->elapsed_us / 1000);
        put_html(to, thread->route);
        fputs("</td><td class=\"l wide\">", to);
        put_html(to, thread->method);
        fputc(' ', to);
        put_html(to, thread->uri);
        fputs("</td></tr>", to);
    }
    fputs("</tbody></table></div>", to);
    if (snapshot->thread_count > THREADS_MAX)
        fprintf(to, "<p>and %d more</p>", snapshot->thread_count - THREADS_MAX);
}

void status_page_print(FILE *to, const struct snapshot *snapshot, const char *nonce)
{
    fprintf(to,
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Millrace: %d busy</title>"
            "<link rel=\"icon\" href=\"data:,\"><noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>"
            "<style nonce=\"%s\">%s</style></head><body><main data-busy=\"%d\">",
            snapshot->thread_count, nonce, style, snapshot->thread_count);
    put_summary(to, snapshot);
    put_threads(to, snapshot);
    put_routes(to, snapshot);
    put_workers(to, snapshot);
    fprintf(to,
            "</main><p class=\"end\">The same as <a href=\"/status.json\">JSON</a>, <a href=\"/metrics\">metrics</a>, "
            "<a href=\"/status.txt\">text</a>.</p><script nonce=\"%s\">%s</script></body></html>\n",
            nonce, script);
}
