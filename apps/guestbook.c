/*
 * guestbook.c: visitors leave a name and a message. An example of the database's blocking style (millrace_pg.h): a
 * handler borrows a connection and waits for its statements, and only its own request waits with it.
 *
 * GET lists the newest entries, `?before=ID` older ones; POST adds one and leads back to the list, so that a reload
 * sends nothing again. Whatever a visitor typed is a parameter in SQL and escaped in HTML.
 */
#include <millrace_pg.h>

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { NAME_CHARACTERS = 60, MESSAGE_CHARACTERS = 2000, PAGE_ENTRIES = 50 };

/* One more than a page shows: whether there are older ones. What may be wrong with $1, the database says. */
static const char list_sql[] = "SELECT id, name, message,"
                               " to_char(written AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),"
                               " to_char(written AT TIME ZONE 'UTC', 'FMDD FMMonth YYYY, HH24:MI')"
                               " FROM guestbook WHERE id < coalesce($1::bigint, 9223372036854775807)"
                               " ORDER BY id DESC LIMIT 51";
/* Browsers end lines with CR LF. */
static const char add_sql[] = "INSERT INTO guestbook (name, message) VALUES ($1, replace($2, E'\\r\\n', E'\\n'))";

enum { LIST, ADD };
static const struct pg_statement statements[] = {
    [LIST] = {.sql = list_sql, .parameters = 1, .read_only = true},
    [ADD] = {.sql = add_sql, .parameters = 2},
};

struct form {
    const char *name, *message;             /* what was typed */
    const char *name_fault, *message_fault; /* what is wrong with it, NULL: nothing */
};

/* -- The page: it loads nothing and runs nothing ------------------------------------------------------------------- */

/* When the style changes, so does its hash: the browser's console tells the new one. */
#define STYLE_HASH "sha256-WNvnU5J8sWFL6HEMJmRtKjZ6Iq8mETo6WWzMV/LtxXQ="
static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d242d;--quiet:#57616e;--paper:#f5f6f7;--card:#fff;--line:#8a929c;"
    "--link:#0b5cad;--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e7ec;--quiet:#a0a9b5;--paper:#12161b;--card:#1a2027;"
    "--line:#6b7683;--link:#7db7f5;--bad:#ff928a}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:42rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif}"
    "label{display:block;margin-top:1rem;font-weight:600}"
    "input,textarea,button{padding:.5rem 1rem;border:1px solid var(--line);border-radius:.3rem;"
    "background:var(--card);color:inherit;font:inherit}"
    "input,textarea{width:100%}"
    "button{margin-top:1rem}"
    "a{color:var(--link)}"
    "small,time{color:var(--quiet);font-weight:400;font-size:.875rem}"
    "strong{display:block;color:var(--bad)}"
    "article{margin-top:1rem;padding:1rem;border-radius:.3rem;background:var(--card);overflow-wrap:anywhere}"
    "h2,article p{margin:0;font-size:1rem;white-space:pre-wrap}";

static void put(FCGX_Request *req, const char *html)
{
    FCGX_PutS(html, req->out);
}

static void put_text(FCGX_Request *req, const char *text)
{
    mr_html(req->out, text, strlen(text));
}

static void begin_page(FCGX_Request *req, const char *status, const char *title)
{
    mr_header(req, "Status", status);
    mr_header(req, "Content-Type", "text/html; charset=utf-8");
    mr_header(req, "Cache-Control", "no-store");
    mr_header(req, "X-Content-Type-Options", "nosniff");
    mr_header(req, "Content-Security-Policy",
              "default-src 'none'; style-src '" STYLE_HASH "'; form-action 'self'; base-uri 'none'; "
              "frame-ancestors 'none'");
    mr_printf(req->out,
              "\r\n<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n",
              title, style, title);
}

static int end_page(FCGX_Request *req)
{
    put(req, "</main>\n</body>\n</html>\n");
    return 0;
}

static void put_label(FCGX_Request *req, const char *id, const char *label, const char *hint, const char *fault)
{
    mr_printf(req->out, "<label for=\"%s\">%s <small>%s</small></label>\n", id, label, hint);
    if (fault != NULL)
        mr_printf(req->out, "<strong id=\"fault-%s\">%s</strong>\n", id, fault);
}

static void put_attributes(FCGX_Request *req, const char *id, const char *fault)
{
    mr_printf(req->out, " id=\"%s\" name=\"%s\" dir=\"auto\" required", id, id);
    if (fault != NULL)
        mr_printf(req->out, " aria-invalid=\"true\" aria-describedby=\"fault-%s\"", id);
}

static void put_form(FCGX_Request *req, const char *base, const struct form *form)
{
    put(req, "<form method=\"post\" action=\"");
    put_text(req, base);
    put(req, "\">\n");
    put_label(req, "name", "Your name", "at most 60 characters", form->name_fault);
    put(req, "<input autocomplete=\"name\"");
    put_attributes(req, "name", form->name_fault);
    put(req, " value=\"");
    put_text(req, form->name);
    put(req, "\">\n");
    put_label(req, "message", "Your message", "at most 2,000 characters", form->message_fault);
    put(req, "<textarea rows=\"5\"");
    put_attributes(req, "message", form->message_fault);
    put(req, ">\n"); /* a line feed that HTML leaves out, so that it keeps the one that may have been typed */
    put_text(req, form->message);
    put(req, "</textarea>\n<button>Sign the guestbook</button>\n</form>\n");
}

static void put_entry(FCGX_Request *req, const PGresult *rows, int row)
{
    put(req, "<article>\n<h2 dir=\"auto\">");
    put_text(req, PQgetvalue(rows, row, 1));
    mr_printf(req->out, "</h2>\n<time datetime=\"%s\">%s UTC</time>\n<p dir=\"auto\">", PQgetvalue(rows, row, 3),
              PQgetvalue(rows, row, 4));
    put_text(req, PQgetvalue(rows, row, 2));
    put(req, "</p>\n</article>\n");
}

static void put_link(FCGX_Request *req, const char *base, const char *query, const char *id, const char *text)
{
    put(req, "<p><a href=\"");
    put_text(req, base);
    mr_printf(req->out, "%s%s\">%s</a></p>\n", query, id, text);
}

/* -- The list ------------------------------------------------------------------------------------------------------ */

/* Returns a statement's result, which the caller clears, NULL when the answer says already that there is none. */
static PGresult *execute(FCGX_Request *req, int number, const struct pg_value *values)
{
    PGconn *connection = pg_connection(req);
    if (connection == NULL) {
        pg_unavailable(req, NULL);
        return NULL;
    }
    PGresult *rows = pg_execute(req, connection, &statements[number], statements[number].parameters, values);
    struct pg_result result = pg_result_of(rows);
    if (result.outcome == PG_DONE)
        return rows;
    pg_unavailable(req, &result);
    PQclear(rows);
    return NULL;
}

static int list(FCGX_Request *req, const char *base)
{
    const char *before = mr_query(req, "before");
    PGresult *rows = execute(req, LIST, (struct pg_value[]){pg_text(before)});
    if (rows == NULL)
        return 0;
    int count = PQntuples(rows), shown = count < PAGE_ENTRIES ? count : PAGE_ENTRIES;
    begin_page(req, "200 OK", "Guestbook");
    if (before == NULL)
        put_form(req, base, &(struct form){.name = "", .message = ""});
    for (int i = 0; i < shown; i++)
        put_entry(req, rows, i);
    if (before != NULL)
        put_link(req, base, "", "", "Newest entries");
    if (count > shown)
        put_link(req, base, "?before=", PQgetvalue(rows, shown - 1, 0), "Older entries");
    PQclear(rows);
    return end_page(req);
}

/* -- A new entry --------------------------------------------------------------------------------------------------- */

/* A page of another site can make its visitors' browsers send this form, but every browser of these years says so. */
static bool is_from_elsewhere(const FCGX_Request *req)
{
    const char *site = FCGX_GetParam("HTTP_SEC_FETCH_SITE", req->envp);
    const char *origin = FCGX_GetParam("HTTP_ORIGIN", req->envp), *host = FCGX_GetParam("HTTP_HOST", req->envp);
    if (site != NULL)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    if (origin == NULL)
        return false;
    const char *authority = strstr(origin, "://"); /* not in "null", the origin of what has none */
    return authority == NULL || host == NULL || strcasecmp(authority + 3, host) != 0;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Characters, not bytes: mr_form gives UTF-8 alone, whose further bytes begin with the bits 10. The end of a line is
 * one. */
static int count_characters(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80 && !(text[0] == '\r' && text[1] == '\n');
    return count;
}

static bool check(struct form *form)
{
    if (is_blank(form->name))
        form->name_fault = "Please enter your name.";
    else if (count_characters(form->name) > NAME_CHARACTERS)
        form->name_fault = "This name is longer than 60 characters.";
    if (is_blank(form->message))
        form->message_fault = "Please enter a message.";
    else if (count_characters(form->message) > MESSAGE_CHARACTERS)
        form->message_fault = "This message is longer than 2,000 characters.";
    return form->name_fault == NULL && form->message_fault == NULL;
}

/* What is no text is not there either; then mr_form has made the answer a 400. */
static const char *field(FCGX_Request *req, const char *name)
{
    const char *value = mr_form(req, name);
    return value != NULL ? value : "";
}

static int add(FCGX_Request *req, const char *base)
{
    struct form form = {.name = field(req, "name"), .message = field(req, "message")};
    if (!check(&form)) {
        begin_page(req, "422 Unprocessable Content", "Guestbook: please check your entry");
        put_form(req, base, &form);
        return end_page(req);
    }
    PGresult *result = execute(req, ADD, (struct pg_value[]){pg_text(form.name), pg_text(form.message)});
    if (result == NULL)
        return 0;
    PQclear(result);
    mr_header(req, "Status", "303 See Other");
    mr_header(req, "Location", base);
    put(req, "\r\n");
    return 0;
}

/* -- The application ----------------------------------------------------------------------------------------------- */

static int refuse(FCGX_Request *req, const char *status, const char *why)
{
    begin_page(req, status, why);
    return end_page(req);
}

static int guestbook(FCGX_Request *req)
{
    const char *base = FCGX_GetParam("SCRIPT_NAME", req->envp); /* the route, wherever it is mounted */
    const char *method = FCGX_GetParam("REQUEST_METHOD", req->envp);
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return list(req, base);
    if (strcmp(method, "POST") == 0)
        return is_from_elsewhere(req) ? refuse(req, "403 Forbidden", "Another site sent this form") : add(req, base);
    mr_header(req, "Allow", "GET, HEAD, POST");
    return refuse(req, "405 Method Not Allowed", "A guestbook is read or signed");
}

static int start(struct mr_route *route)
{
    return pg_start(route, statements, sizeof statements / sizeof statements[0]);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "guestbook", .handle = guestbook, .start = start, .stop = pg_stop};
