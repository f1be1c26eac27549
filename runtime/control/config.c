/*
 * config.c: reads the configuration with libconfuse and turns it into settings. Runs in the master, before anything
 * else; opens no application.
 */
#include "control/config.h"

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "control/braces.h"
#include "control/option.h"

#define CONFIG_BYTES_MAX ((size_t)4 << 20)

/* What one reading needs beyond libconfuse's own state, which has no place for it. */
static struct {
    const char *path;
    config_report report;
    int faults;
    int line; /* of the last `file` in an app block; libconfuse itself only keeps where a block ends */
} reading;

static void fault(const char *path, int line, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));

static void fault(const char *path, int line, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = line > 0 ? snprintf(text, sizeof text, "%.400s:%d: ", path, line)
                          : snprintf(text, sizeof text, "%.400s: ", path);
    vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
    va_end(arguments);
    reading.report(text);
    reading.faults++;
}

/* -- libconfuse's callbacks
 * -------------------------------------------------------------------------------------------- */

/* libconfuse 3.3 calls every key of a free-form section unknown before it takes it; and it goes on to complain about
 * what follows a fault, where the first line says it all. */
static void on_error(cfg_t *section, const char *format, va_list arguments)
{
    char text[512];
    if ((section->flags & CFGF_KEYSTRVAL) && strncmp(format, "no such option", strlen("no such option")) == 0)
        return;
    if (reading.faults > 0)
        return;
    vsnprintf(text, sizeof text, format, arguments);
    const char *advice = "";
    if (strstr(text, "no such option") != NULL)
        advice = " (see millrace -h for the options)";
    else if (strstr(text, "duplicate title") != NULL)
        advice = ": two applications on one route";
    fault(reading.path, section->line, "%s%s", text, advice);
}

/* Returns 0, −1: libconfuse then stops. Numbers are kept as int64 in a pointer value, for long is enough on this kind
 * of machine. */
static int on_number(cfg_t *section, cfg_opt_t *given, const char *text, void *result)
{
    const struct option *option = option_find(given->name);
    int64_t number;
    const char *why = option_read_number(option, text, &number);
    if (why == NULL) {
        *(long *)result = (long)number;
        return 0;
    }
    cfg_error(section, "%s = %s %s: %lld to %lld%s", given->name, text, why, (long long)option->lowest,
              (long long)option->highest,
              option->unset != NULL && strcmp(option->unset, "auto") == 0 ? ", or auto" : "");
    return -1;
}

static int on_address(cfg_t *section, cfg_opt_t *given)
{
    struct address address;
    const char *text = cfg_opt_getnstr(given, cfg_opt_size(given) - 1);
    const char *why = address_parse(&address, text);
    if (why == NULL)
        return 0;
    cfg_error(section, "%s: \"%s\": %s", given->name, text, why);
    return -1;
}

static int on_network(cfg_t *section, cfg_opt_t *given)
{
    struct networks networks = {0};
    for (unsigned i = 0; i < cfg_opt_size(given); i++) {
        const char *why = networks_add(&networks, cfg_opt_getnstr(given, i));
        if (why != NULL) {
            cfg_error(section, "%s: \"%s\": %s", given->name, cfg_opt_getnstr(given, i), why);
            return -1;
        }
    }
    return 0;
}

/* Leaves the line of `file` in place of the block's. */
static int on_file(cfg_t *section, cfg_opt_t *given)
{
    (void)given;
    reading.line = section->line;
    return 0;
}

static int on_app(cfg_t *parser, cfg_opt_t *given)
{
    (void)parser;
    cfg_t *section = cfg_opt_getnsec(given, cfg_opt_size(given) - 1);
    if (reading.line > 0)
        section->line = reading.line;
    reading.line = 0;
    return 0;
}

static int on_user(cfg_t *section, cfg_opt_t *given)
{
    uid_t user;
    gid_t group;
    const char *name = cfg_opt_getstr(given);
    if (strlen(name) < ACCOUNT_NAME_BYTES && account_find_user(name, &user, &group) == 0)
        return 0;
    cfg_error(section, "%s = %s: there is no such user", given->name, name);
    return -1;
}

static int on_group(cfg_t *section, cfg_opt_t *given)
{
    gid_t group;
    if (account_find_group(cfg_opt_getstr(given), &group) == 0)
        return 0;
    cfg_error(section, "%s = %s: there is no such group", given->name, cfg_opt_getstr(given));
    return -1;
}

/* -- libconfuse's options, from the table
 * ------------------------------------------------------------------------------- */

static cfg_opt_t to_libconfuse(const struct option *option, int scope)
{
    /* A route's own default is "not set": the global value holds then. */
    int unset = scope == OPTION_APP || option->unset == NULL;
    switch (option->type) {
    case OPTION_TEXT:
        return (cfg_opt_t)CFG_STR(option->name, unset ? NULL : option->unset, CFGF_NONE);
    case OPTION_LIST:
        return (cfg_opt_t)CFG_STR_LIST(option->name, NULL, CFGF_NONE);
    case OPTION_FLAG:
        return (cfg_opt_t)CFG_BOOL(option->name, cfg_false, CFGF_NONE);
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_SECONDS:
    case OPTION_MILLISECONDS:
    case OPTION_MODE:
        break;
    }
    int64_t number = -1;
    if (!unset)
        CHECK(option_read_number(option, option->unset, &number) == NULL);
    return (cfg_opt_t)CFG_INT_CB(option->name, (long)number, CFGF_NONE, on_number);
}

static cfg_opt_t *make_options(int scope, const cfg_opt_t *section)
{
    cfg_opt_t *options = calloc(option_count + 2, sizeof *options);
    CHECK(options != NULL);
    size_t count = 0;
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].scopes & scope)
            options[count++] = to_libconfuse(&option_table[i], scope);
    options[count++] = *section;
    options[count] = (cfg_opt_t)CFG_END();
    return options;
}

static cfg_t *make_parser(void)
{
    cfg_opt_t free_options[] = {CFG_END()};
    cfg_opt_t inner = CFG_SEC("options", free_options, CFGF_KEYSTRVAL);
    cfg_opt_t *app_options = make_options(OPTION_APP, &inner);
    cfg_opt_t outer = CFG_SEC("app", app_options, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
    cfg_opt_t *options = make_options(OPTION_GLOBAL, &outer);
    cfg_t *parser = cfg_init(options, CFGF_NONE);
    CHECK(parser != NULL);
    free(options); /* cfg_init keeps a copy of all of it */
    free(app_options);
    cfg_set_error_function(parser, on_error);
    cfg_set_validate_func(parser, "fastcgi", on_address);
    cfg_set_validate_func(parser, "http", on_address);
    cfg_set_validate_func(parser, "forwarded_from", on_network);
    cfg_set_validate_func(parser, "proxy_protocol_from", on_network);
    cfg_set_validate_func(parser, "status", on_address);
    cfg_set_validate_func(parser, "app", on_app);
    cfg_set_validate_func(parser, "app|file", on_file);
    cfg_set_validate_func(parser, "user", on_user);
    cfg_set_validate_func(parser, "socket_owner", on_user);
    cfg_set_validate_func(parser, "group", on_group);
    cfg_set_validate_func(parser, "socket_group", on_group);
    return parser;
}

/* -- from libconfuse to settings
 * --------------------------------------------------------------------------------------- */

/* The title as a route's path: begins with /, no / at the end, no empty segment. Returns why it is none. */
static const char *check_route_path(const char *path)
{
    size_t length = strlen(path);
    if (path[0] != '/')
        return "a route begins with /";
    if (length >= SETTINGS_PATH_BYTES)
        return "a route has at most 255 bytes";
    if (length > 1 && path[length - 1] == '/')
        return "a route does not end with / (it holds for everything below it as well)";
    if (strstr(path, "//") != NULL || strpbrk(path, "?#% ") != NULL)
        return "a route is a plain path, without //, ?, #, % or blanks";
    return NULL;
}

static void take_options(struct settings_route *route, cfg_t *section)
{
    unsigned count = section == NULL ? 0 : cfg_num(section);
    struct settings_option *options = calloc(count + 1, sizeof *options);
    CHECK(options != NULL);
    for (unsigned i = 0; i < count; i++) {
        cfg_opt_t *given = cfg_getnopt(section, i);
        options[i] = (struct settings_option){.name = given->name, .value = cfg_opt_getnstr(given, 0)};
    }
    route->options = options;
    route->option_count = count;
}

/* A number of a route, or the global one where the route has none. */
static int64_t number_of(cfg_t *section, cfg_t *parsed, const char *name)
{
    int64_t number = cfg_getint(section, name);
    return number >= 0 ? number : cfg_getint(parsed, name);
}

static void take_route(struct settings_route *route, cfg_t *section, const char *path, cfg_t *parsed)
{
    char *where = NULL;
    route->path = cfg_title(section);
    route->file = cfg_getstr(section, "file");
    route->blocking = cfg_getbool(section, "blocking");
    route->object_fd = -1;
    route->max_body_bytes = number_of(section, parsed, "max_body");
    route->request_timeout_us = number_of(section, parsed, "request_timeout") * CLOCK_SECOND;
    route->request_grace_us = number_of(section, parsed, "request_grace") * CLOCK_SECOND;
    route->max_busy = cfg_getint(section, "max_busy") > 0 ? (int)cfg_getint(section, "max_busy") : 0;
    CHECK(asprintf(&where, "%s:%d", path, section->line) > 0);
    route->where = where;
    take_options(route, cfg_getsec(section, "options"));
    const char *why = check_route_path(route->path);
    if (why != NULL)
        fault(path, section->line, "app \"%s\": %s", route->path, why);
    else if (route->file == NULL || route->file[0] == '\0')
        fault(path, section->line, "app \"%s\" names no file: add file = \"/path/to/application.so\"", route->path);
}

static void take_routes(struct config *config, cfg_t *parsed, const char *path)
{
    unsigned count = cfg_size(parsed, "app");
    struct settings_route *routes = calloc(count + 1, sizeof *routes);
    CHECK(routes != NULL);
    for (unsigned i = 0; i < count; i++)
        take_route(&routes[i], cfg_getnsec(parsed, "app", i), path, parsed);
    config->settings.routes = routes;
    config->settings.route_count = count;
    if (count == 0)
        fault(path, 0, "names no application: add app \"/hello\" { file = \"/path/to/hello.so\" }");
}

/* Names were found when they were read; only the default user has not been looked up. */
static void take_account(struct account *account, cfg_t *parsed, const char *path)
{
    const char *user = cfg_getstr(parsed, "user"), *group = cfg_getstr(parsed, "group");
    if (geteuid() != 0)
        return; /* everything runs as whoever started it */
    account->change = true;
    snprintf(account->name, sizeof account->name, "%s", user);
    if (account_find_user(user, &account->user, &account->group) < 0 ||
        (group != NULL && account_find_group(group, &account->group) < 0))
        fault(path, 0, "there is no user %s: add user = \"...\", which workers run as when root starts the server",
              user);
}

static void take_socket_rules(struct listener_rules *rules, cfg_t *parsed)
{
    const char *owner = cfg_getstr(parsed, "socket_owner"), *group = cfg_getstr(parsed, "socket_group");
    gid_t unused;
    *rules = (struct listener_rules){.mode = (mode_t)cfg_getint(parsed, "socket_mode"),
                                     .owner = (uid_t)-1,
                                     .group = (gid_t)-1,
                                     .backlog = (int)cfg_getint(parsed, "backlog")};
    if (owner != NULL)
        CHECK(account_find_user(owner, &rules->owner, &unused) == 0);
    if (group != NULL)
        CHECK(account_find_group(group, &rules->group) == 0);
}

static bool names(const struct config_listeners *listeners, const char *text)
{
    for (int i = 0; i < listeners->count; i++)
        if (strcmp(listeners->addresses[i].text, text) == 0)
            return true;
    return false;
}

static void take_listeners_of(struct config *config, enum listener_protocol protocol, cfg_t *parsed, const char *path)
{
    const char *name = listener_names[protocol];
    struct config_listeners *listeners = &config->listen[protocol];
    unsigned count = cfg_size(parsed, name);
    if (count > CONFIG_LISTENERS_MAX)
        fault(path, 0, "%s names %u listeners, the most is %d", name, count, CONFIG_LISTENERS_MAX);
    for (unsigned i = 0; i < count && i < CONFIG_LISTENERS_MAX; i++) {
        struct address *address = &listeners->addresses[i];
        CHECK(address_parse(address, cfg_getnstr(parsed, name, i)) == NULL);
        if (names(listeners, address->text))
            fault(path, 0, "%s names %s twice", name, address->text);
        else if (protocol != LISTENER_FASTCGI && names(&config->listen[LISTENER_FASTCGI], address->text))
            fault(path, 0, "%s names %s, which is for FastCGI already", name, address->text);
        listeners->count++;
    }
}

static void take_networks(struct networks *networks, cfg_t *parsed, const char *name)
{
    for (unsigned i = 0; i < cfg_size(parsed, name); i++)
        CHECK(networks_add(networks, cfg_getnstr(parsed, name, i)) == NULL);
}

static void take_listeners(struct config *config, cfg_t *parsed, const char *path)
{
    for (int protocol = 0; protocol < LISTENER_PROTOCOLS; protocol++)
        take_listeners_of(config, (enum listener_protocol)protocol, parsed, path);
    take_networks(&config->settings.forwarded_from, parsed, "forwarded_from");
    take_networks(&config->settings.proxy_protocol_from, parsed, "proxy_protocol_from");
    config->has_status = cfg_getstr(parsed, "status") != NULL;
    if (config->has_status)
        CHECK(address_parse(&config->status, cfg_getstr(parsed, "status")) == NULL);
}

static int auto_lanes(int workers)
{
    cpu_set_t cpus;
    int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    return count / workers > 1 ? count / workers : 1;
}

static void take_settings(struct config *config, cfg_t *parsed, const char *path)
{
    struct settings *settings = &config->settings;
    settings->workers = (int)cfg_getint(parsed, "workers");
    settings->lanes = (int)cfg_getint(parsed, "lanes");
    settings->threads = (int)cfg_getint(parsed, "threads");
    settings->max_waiting = (int)cfg_getint(parsed, "max_waiting");
    if (settings->lanes == 0)
        settings->lanes = auto_lanes(settings->workers);
    if (settings->threads <= settings->lanes)
        fault(path, 0,
              "threads = %d must be more than lanes = %d: a handler may only run while a thread waits to go on",
              settings->threads, settings->lanes);
    settings->max_params_bytes = (size_t)cfg_getint(parsed, "max_params_bytes");
    settings->head_timeout_us = cfg_getint(parsed, "head_timeout") * CLOCK_SECOND;
    settings->body_timeout_us = cfg_getint(parsed, "body_timeout") * CLOCK_SECOND;
    settings->write_timeout_us = cfg_getint(parsed, "write_timeout") * CLOCK_SECOND;
    settings->idle_timeout_us = cfg_getint(parsed, "idle_timeout") * CLOCK_SECOND;
    settings->queue_us = cfg_getint(parsed, "queue_ms") * CLOCK_MS;
    settings->queue_limit = (int)cfg_getint(parsed, "queue_limit");
    settings->max_requests = (uint64_t)cfg_getint(parsed, "max_requests");
    settings->max_memory_bytes = cfg_getint(parsed, "max_memory");
    settings->core = cfg_getbool(parsed, "core");
    config->log = cfg_getstr(parsed, "log");
    config->access_log = cfg_getstr(parsed, "access_log");
    config->start_timeout_us = cfg_getint(parsed, "start_timeout") * CLOCK_SECOND;
    config->pid_file = cfg_getstr(parsed, "pid_file");
    config->stop_timeout_us = cfg_getint(parsed, "stop_timeout") * CLOCK_SECOND;
    take_account(&settings->account, parsed, path);
    take_socket_rules(&config->socket_rules, parsed);
    take_listeners(config, parsed, path);
    take_routes(config, parsed, path);
}

/* -- reading
 * ----------------------------------------------------------------------------------------------------------- */

/* Returns the file's text, to be freed by the caller; NULL after a fault. */
static char *read_text(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for its writer */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char *text = NULL;
    size_t length = 0;
    if (file == NULL || fstat(fd, &status) < 0) {
        fault(path, 0, "cannot read the configuration: %s", strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        fault(path, 0, "cannot read the configuration: it is %s",
              S_ISDIR(status.st_mode) ? "a directory" : "no regular file, which a reload could read again");
    } else if ((text = malloc(CONFIG_BYTES_MAX + 1)) != NULL) {
        length = fread(text, 1, CONFIG_BYTES_MAX, file);
        text[length] = '\0';
        if (ferror(file) || !feof(file))
            fault(path, 0, "cannot read the configuration: %s", ferror(file) ? strerror(errno) : "it is over 4 MiB");
        else if (strlen(text) != length)
            fault(path, 0, "cannot read the configuration: it holds a NUL byte");
    }
    if (file != NULL)
        fclose(file);
    if (reading.faults == 0)
        return text;
    free(text);
    return NULL;
}

/* libconfuse 3.3 takes the end of the file for a missing brace, and counts lines wrongly behind comments: so the braces
 * are looked at here, and it gets the text without comments. */
static void parse(cfg_t *parsed, const char *path, char *text)
{
    struct braces braces = {0};
    braces_feed(&braces, text, strlen(text));
    const char *why = braces_end(&braces);
    if (why != NULL) {
        fault(path, braces.open_line, "%s", why);
        return;
    }
    if (cfg_parse_buf(parsed, text) != CFG_SUCCESS && reading.faults == 0)
        fault(path, 0, "cannot read the configuration: it is malformed");
}

int config_read(struct config *config, const char *path, config_report report)
{
    memset(config, 0, sizeof *config);
    memset(&reading, 0, sizeof reading);
    reading.path = path;
    reading.report = report;
    char *text = read_text(path);
    if (text == NULL)
        return -1;
    cfg_t *parsed = make_parser();
    config->parsed = parsed;
    parse(parsed, path, text);
    free(text);
    if (reading.faults == 0)
        take_settings(config, parsed, path);
    return reading.faults == 0 ? 0 : -1;
}

void config_take_object(struct config *config, int route, int fd)
{
    ((struct settings_route *)(uintptr_t)config->settings.routes)[route].object_fd = fd;
}

void config_fini(struct config *config)
{
    for (size_t i = 0; i < config->settings.route_count; i++) {
        if (config->settings.routes[i].object_fd >= 0)
            close(config->settings.routes[i].object_fd);
        free((void *)(uintptr_t)config->settings.routes[i].options);
        free((void *)(uintptr_t)config->settings.routes[i].where);
    }
    free((void *)(uintptr_t)config->settings.routes);
    if (config->parsed != NULL)
        cfg_free(config->parsed);
    memset(config, 0, sizeof *config);
}
