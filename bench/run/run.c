/* run.c: `millbench run PLAN`: reads the command line, prepares the run's folder and place, has the rounds run, cleans
 * up. */
#include "run/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "file.h"
#include "observe/fingerprint.h"
#include "observe/layout.h"
#include "report/report.h"
#include "run/child.h"
#include "run/plan.h"
#include "run/progress.h"
#include "run/quiet.h"
#include "run/rounds.h"
#include "words.h"

#define PORTS_FIRST 21000 /* below those that the kernel gives to clients */
#define PORTS_LAST  31000
#define PORTS       8
#define SEED_MAX    INT64_C(999999999)

static const char usage[] = "usage: millbench run [OPTION...] PLAN\n"
                            "\n"
                            "Measures what a plan says: a file, or the name of one in bench/plans. The results of a "
                            "run are a folder; at the end it is\n"
                            "reported as by `millbench report`.\n"
                            "\n"
                            "  -o, --output FOLDER   where it goes (build/bench/PLAN-DATE-TIME)\n"
                            "      --resume FOLDER   goes on with an interrupted run; without PLAN\n"
                            "      --only PATTERN    only the cells whose name holds the pattern (*.direct.*)\n"
                            "      --seed N          of the order of servers and cells (random, and printed)\n"
                            "      --list            prints the cells and how long it will take, and measures nothing\n"
                            "  -h, --help            this text\n"
                            "\n"
                            "Ctrl-C stops it and what it has started; --resume goes on. Exit status: 0 complete, 1 it "
                            "could not be made, 2 bad usage,\n"
                            "130 interrupted. It is run from the repository, where bench/targets is; BUILD (build) "
                            "says which build is measured.\n";

struct request {
    const char *plan, *output, *resume, *only;
    int64_t seed; /* -1: random */
    bool list, help;
};

/* Everything that a run needs and that goes with it. */
struct scene {
    struct plan plan;
    struct layout layout;
    struct cell_site site;
    struct target_place place;
    struct journal journal;
    char *folder, *program, *server_list, *generator_list, *state, *pages;
    json_t *fingerprint; /* until the journal has it; taken before this process leaves the server's CPUs */
};

/* -- the command line
 * --------------------------------------------------------------------------------------------------- */

static int bad_usage(const char *what, const char *why)
{
    fprintf(stderr, "millbench run: %s: %s; millbench run --help tells how\n", what, why);
    return 2;
}

static int read_seed(struct request *request, const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*text == '\0' || *end != '\0' || errno != 0 || number < 0 || number > SEED_MAX)
        return bad_usage(text, "a seed is a number from 0 to 999999999");
    request->seed = number;
    return 0;
}

static int read_request(struct request *request, int argc, char **argv)
{
    enum { RESUME = 256, ONLY, SEED, LIST };
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"resume", required_argument, NULL, RESUME},
                                            {"only", required_argument, NULL, ONLY},
                                            {"seed", required_argument, NULL, SEED},
                                            {"list", no_argument, NULL, LIST},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    *request = (struct request){.seed = -1};
    for (int option; (option = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        if (option == 'o')
            request->output = optarg;
        else if (option == RESUME)
            request->resume = optarg;
        else if (option == ONLY)
            request->only = optarg;
        else if (option == LIST)
            request->list = true;
        else if (option == 'h')
            request->help = true;
        else if (option == SEED && read_seed(request, optarg) == 0)
            continue;
        else
            return option == '?' ? bad_usage("run", "no such option, or it lacks its value") : 2;
    }
    request->plan = argv[optind];
    if (request->help)
        return 0;
    if (request->resume != NULL &&
        (request->plan != NULL || request->output != NULL || request->only != NULL || request->seed >= 0))
        return bad_usage("--resume", "the plan, the folder, the cells and the seed are those of the interrupted run");
    if (request->resume == NULL && request->plan == NULL)
        return bad_usage("run", "which plan");
    if (request->plan != NULL && argv[optind + 1] != NULL)
        return bad_usage(argv[optind + 1], "one plan is enough");
    return 0;
}

/* -- the plan
 * ------------------------------------------------------------------------------------------------------------- */

static char *find_plan(const char *name)
{
    return strchr(name, '/') != NULL || access(name, R_OK) == 0 ? words("%s", name)
                                                                : words("bench/plans/%s.conf", name);
}

/* Returns 0, -1 after a line on standard error. */
static int read_plan(struct plan *plan, const char *file, const char *only)
{
    if (plan_read(plan, file) < 0)
        return -1;
    if (only != NULL)
        plan_keep(plan, only);
    if (plan->cell_count == 0) {
        fprintf(stderr, "millbench run: no cell of %s has \"%s\" in its name; --list prints them\n", file, only);
        return -1;
    }
    for (size_t i = 0; i < plan->cell_count; i++)
        if (!target_exists(plan->cells[i].server)) {
            fprintf(stderr, "millbench run: %s: there is no server %s in bench/targets\n", file, plan->cells[i].server);
            return -1;
        }
    return 0;
}

static int list_plan(const struct plan *plan)
{
    char span[32];
    for (size_t i = 0; i < plan->cell_count; i++)
        printf("%3d rounds of %4.1f s  %s\n", plan->cells[i].rounds, plan->cells[i].window_s, plan->cells[i].name);
    progress_print_span(span, rounds_seconds(plan));
    printf("%zu cells, about %s\n", plan->cell_count, span);
    return 0;
}

/* -- the place
 * ------------------------------------------------------------------------------------------------------------ */

static bool is_free(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return free;
}

/* The first of eight free ports in a row; 0: there are none. */
static int find_ports(void)
{
    int row = 0;
    for (int port = PORTS_FIRST; port < PORTS_LAST; port++) {
        row = is_free(port) ? row + 1 : 0;
        if (row == PORTS)
            return port - PORTS + 1;
    }
    return 0;
}

static int say(const char *what, const char *why)
{
    fprintf(stderr, "millbench run: %s: %s\n", what, why);
    return -1;
}

static int choose_cpus(struct scene *scene)
{
    struct layout_cores cores;
    cpu_set_t mask;
    CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
    layout_read_cores(&cores);
    const char *why = layout_choose(&scene->layout, scene->plan.layout, &mask, &cores);
    if (why != NULL)
        return say(scene->plan.layout, why);
    scene->server_list = layout_text(&scene->layout.server);
    scene->generator_list = layout_text(&scene->layout.generator);
    return sched_setaffinity(0, sizeof mask, &scene->layout.generator) < 0 ? say("CPUs", strerror(errno)) : 0;
}

/* The program as it is called from here, so that a command can be typed again. */
static char *own_program(const char *build)
{
    char *relative = words("%s/millbench", build), self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    struct stat one, other;
    CHECK(length > 0);
    self[length] = '\0';
    if (stat(relative, &one) == 0 && stat(self, &other) == 0 && one.st_ino == other.st_ino &&
        one.st_dev == other.st_dev)
        return relative;
    free(relative);
    return words("%s", self);
}

static int prepare_place(struct scene *scene, const char *build)
{
    const char *above = getenv("TMPDIR");
    if (choose_cpus(scene) < 0)
        return -1;
    int port = find_ports();
    if (port == 0)
        return say("ports", "there are no eight free ones in a row from 21000 to 31000");
    scene->state = words("%s/millbench.XXXXXX", above != NULL && *above != '\0' ? above : "/tmp");
    if (mkdtemp(scene->state) == NULL || chmod(scene->state, 0755) < 0)
        return say(scene->state, strerror(errno));
    scene->program = own_program(build);
    scene->site = (struct cell_site){.folder = scene->folder,
                                     .program = scene->program,
                                     .warm_up_s = scene->plan.warm_up_s,
                                     .server_list = scene->server_list,
                                     .generator_list = scene->generator_list,
                                     .server_cpus = scene->layout.server,
                                     .generator_cpus = scene->layout.generator,
                                     .generator_count = scene->layout.generator_count};
    scene->pages = realpath(scene->folder, NULL);
    CHECK(scene->pages != NULL);
    char *pages = words("%s/raw/pages", scene->pages);
    free(scene->pages);
    scene->pages = pages;
    scene->place = (struct target_place){
        .state = scene->state, .pages = scene->pages, .port = port, .cpus = &scene->layout.server};
    return 0;
}

/* -- the folder
 * --------------------------------------------------------------------------------------------------------------- */

static int make_folders(const char *path)
{
    char *copy = words("%s", path);
    for (char *c = strchr(copy + 1, '/'); c != NULL; c = strchr(c + 1, '/')) {
        *c = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            break;
        *c = '/';
    }
    int result = mkdir(copy, 0755);
    free(copy);
    return result;
}

static char *default_folder(const char *build, const char *plan)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    return words("%s/bench/%s-%s", build, plan, text);
}

static int copy_plan(const char *folder, const char *file)
{
    size_t length = 0;
    char *bytes = file_read(file, &length), *copy = words("%s/plan.conf", folder);
    int result = bytes == NULL ? -1 : file_write(copy, bytes, length);
    free(bytes);
    free(copy);
    return result;
}

/* Returns 0, -1 after a line on standard error. */
static int begin_folder(struct scene *scene, const struct request *request, const char *plan_file, const char *build)
{
    scene->folder = request->output != NULL ? words("%s", request->output) : default_folder(build, scene->plan.name);
    char *pages = words("%s/raw/pages", scene->folder);
    int result = make_folders(scene->folder);
    if (result == 0)
        result = make_folders(pages);
    if (result == 0)
        result = copy_plan(scene->folder, plan_file);
    free(pages);
    return result < 0
               ? say(scene->folder, errno == EEXIST ? "it is there already; -o names another, --resume goes on with it"
                                                    : strerror(errno))
               : 0;
}

static uint64_t random_seed(void)
{
    uint64_t number;
    CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
    return number % (uint64_t)(SEED_MAX + 1);
}

/* -- a run
 * ------------------------------------------------------------------------------------------------------------------------
 */

static void scene_fini(struct scene *scene)
{
    if (scene->state != NULL && file_remove_tree(scene->state) < 0)
        say(scene->state, strerror(errno));
    json_decref(scene->fingerprint);
    journal_fini(&scene->journal);
    plan_fini(&scene->plan);
    free(scene->folder);
    free(scene->program);
    free(scene->server_list);
    free(scene->generator_list);
    free(scene->state);
    free(scene->pages);
}

static const char *build_folder(void)
{
    const char *build = getenv("BUILD");
    return build != NULL && *build != '\0' ? build : "build";
}

/* Only the cells that the interrupted run had: its own list, since it may have been called with --only. */
static void keep_journal_cells(struct plan *plan, const json_t *cells)
{
    size_t kept = 0, index;
    json_t *cell;
    for (size_t i = 0; i < plan->cell_count; i++) {
        struct cell one = plan->cells[i];
        bool there = false;
        json_array_foreach(cells, index, cell) there =
            there || strcmp(json_string_value(json_object_get(cell, "name")) ?: "", one.name) == 0;
        if (there) {
            plan->cells[i] = plan->cells[kept];
            plan->cells[kept++] = one;
        }
    }
    for (size_t i = kept; i < plan->cell_count; i++)
        plan_free_cell(&plan->cells[i]);
    plan->cell_count = kept;
}

/* Returns 0, -1 after a line on standard error. */
static int go_on(struct scene *scene, const struct request *request, const char *build)
{
    scene->folder = words("%s", request->resume);
    char *file = words("%s/plan.conf", scene->folder);
    int result = read_plan(&scene->plan, file, NULL);
    free(file);
    if (result < 0)
        return -1;
    char *why = journal_resume(&scene->journal, scene->folder, scene->fingerprint);
    scene->fingerprint = NULL;
    if (why != NULL) {
        say(scene->folder, why);
        free(why);
        return -1;
    }
    keep_journal_cells(&scene->plan, json_object_get(scene->journal.json, "cells"));
    return prepare_place(scene, build);
}

static int begin(struct scene *scene, const struct request *request, const char *plan_file, const char *build)
{
    if (begin_folder(scene, request, plan_file, build) < 0 || prepare_place(scene, build) < 0)
        return -1;
    journal_begin(&scene->journal, scene->folder, &scene->plan,
                  request->seed >= 0 ? (uint64_t)request->seed : random_seed(), &scene->layout,
                  scene->fingerprint);
    scene->fingerprint = NULL;
    return 0;
}

static int measure(struct scene *scene)
{
    char span[32];
    progress_print_span(span, rounds_seconds(&scene->plan));
    fprintf(stderr, "millbench run: %s: %zu cells, about %s, seed %llu, into %s\n", scene->plan.name,
            scene->plan.cell_count, span, (unsigned long long)scene->journal.seed, scene->folder);
    quiet_warn(&scene->layout);
    switch (rounds_run(&scene->plan, &scene->site, &scene->place, &scene->journal)) {
    case ROUNDS_COMPLETE:
        return report_write(scene->folder, "millbench run") < 0;
    case ROUNDS_INTERRUPTED:
        fprintf(stderr, "millbench run: interrupted; to go on: %s run --resume %s\n", scene->program, scene->folder);
        return 130;
    case ROUNDS_FAILED:
        fprintf(stderr, "millbench run: it ended early; to go on: %s run --resume %s\n", scene->program, scene->folder);
        return 1;
    }
    return 1;
}

int run_main(int argc, char **argv)
{
    struct request request;
    struct scene scene = {0};
    const char *build = build_folder();
    int status = read_request(&request, argc, argv);
    if (status != 0 || request.help) {
        fputs(request.help ? usage : "", stdout);
        return status;
    }
    if (access("bench/targets", X_OK) < 0)
        return say("bench/targets", "is not here: run it from the repository") < 0;
    char *plan_file = request.resume != NULL ? NULL : find_plan(request.plan);
    if (plan_file != NULL && read_plan(&scene.plan, plan_file, request.only) < 0)
        status = 1;
    else if (request.list)
        status = list_plan(&scene.plan);
    else if (child_interrupts_begin() < 0)
        status = say("signals", strerror(errno)) < 0;
    else if ((scene.fingerprint = fingerprint_take(build)) == NULL)
        status = say("fingerprint", "it cannot be taken") < 0;
    else if ((plan_file != NULL ? begin(&scene, &request, plan_file, build) : go_on(&scene, &request, build)) < 0)
        status = 1;
    else
        status = measure(&scene);
    if (status == 0 && !request.list)
        printf("%s/report.html\n", scene.folder);
    scene_fini(&scene);
    free(plan_file);
    return status;
}
