/* gate.c: `millbench gate`: whether this build is worse than another revision of it; see gate.h.
 *
 * Two runs at different times differ by what the machine did. So the other revision is built here, and both are
 * measured in one run, interleaved, as any two servers are: the target millrace-base is the same script with the other
 * one's files.
 */
#include "gate/gate.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge/claim.h"
#include "results/archive.h"
#include "results/field.h"
#include "results/regression.h"
#include "run/run.h"
#include "words.h"

#define WORSE 3

static const char who[] = "millbench gate";

struct gate {
    const char *base, *plan, *seed;
    char *output;
};

static int say(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", who, what, why);
    return 1;
}

/* -- the base ---------------------------------------------------------------------------------------------------- */

/* The script's standard output is one line: the folder. Returns it, which the caller frees, or NULL after the script
 * has said why. */
static char *prepare(const char *base)
{
    int out[2], status;
    char line[4096] = "";
    size_t length = 0;
    if (pipe(out) < 0) {
        say("pipe", strerror(errno));
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execl("bench/gate/prepare", "prepare", base, (char *)NULL);
        _exit(say("bench/gate/prepare", errno == ENOENT ? "is not here: run it from the repository" : strerror(errno)));
    }
    close(out[1]);
    for (ssize_t got;
         pid > 0 && length < sizeof line - 1 && (got = read(out[0], line + length, sizeof line - 1 - length)) > 0;)
        length += (size_t)got;
    close(out[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return words("%s", line);
}

/* -- the run ----------------------------------------------------------------------------------------------------- */

static char *default_output(void)
{
    const char *build = getenv("BUILD");
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    return words("%s/bench/gate-%s", build != NULL && *build != '\0' ? build : "build", text);
}

/* Returns the exit status of `millbench run`. */
static int measure(const struct gate *gate)
{
    const char *const arguments[] = {"run",      "-o", gate->output, gate->plan, gate->seed != NULL ? "--seed" : NULL,
                                     gate->seed, NULL};
    optind = 0; /* getopt begins anew */
    return run_main(gate->seed != NULL ? 6 : 4, (char **)arguments);
}

/* -- the verdict ------------------------------------------------------------------------------------------------- */

static void print_line(const json_t *line)
{
    char interval[64] = "too few rounds for an interval";
    double lo = field_number(line, "lo"), hi = field_number(line, "hi");
    if (!isnan(lo) && !isnan(hi))
        snprintf(interval, sizeof interval, "[%+.1f, %+.1f] %%", claim_percent(lo), claim_percent(hi));
    printf("%-10s %-44s %-10s %+6.1f %% %s  p = %.3f, %.0f rounds\n", field_text(line, "verdict"),
           field_text(line, "cell"), field_text(line, "figure"), claim_percent(field_number(line, "estimate")),
           interval, field_number(line, "p"), field_number(line, "n"));
}

static int judge(const struct gate *gate)
{
    char why[ARCHIVE_WHY_BYTES];
    json_t *results = archive_json(gate->output, "results.json", why), *line;
    if (results == NULL)
        return say(gate->output, why);
    size_t i, worse = 0, unknown = 0, count = json_array_size(json_object_get(results, "base"));
    json_array_foreach(json_object_get(results, "base"), i, line)
    {
        print_line(line);
        worse += field_is(line, "verdict", REGRESSION_WORSE) || field_is(line, "verdict", REGRESSION_FAILED);
        unknown += field_is(line, "verdict", REGRESSION_UNKNOWN);
    }
    printf("%zu cells against %s: %zu worse, %zu that cannot be told (Holm-corrected at 5 %%)\n", count, gate->base,
           worse, unknown);
    json_decref(results);
    if (count == 0)
        return say(gate->plan, "it has no cells of both millrace and millrace-base");
    return worse > 0 ? WORSE : unknown > 0;
}

/* -- the command ------------------------------------------------------------------------------------------------- */

static void usage(FILE *out)
{
    fputs("usage: millbench gate --base REVISION [OPTION...] [PLAN]\n\n"
          "Builds another revision of this repository, measures it and this build in one run, interleaved, and tells "
          "what has\n"
          "become worse: right replies a second in closed loop, CPU a request at a fixed rate. PLAN is gate, if it is "
          "not given;\n"
          "it measures the servers millrace and millrace-base.\n"
          "Exit status: 0 nothing is worse, 3 something is, 1 it cannot be told, 2 bad usage, 130 interrupted.\n\n"
          "  --base REVISION      what git calls it: a commit, a branch, a tag\n"
          "  -o, --output FOLDER  where the run goes (build/bench/gate-TIME)\n"
          "  --seed N             of the order of the rounds\n"
          "  -h, --help           this\n",
          out);
}

static int read_arguments(struct gate *gate, int argc, char **argv)
{
    enum { BASE = 256, SEED };
    static const struct option options[] = {{"base", required_argument, NULL, BASE},
                                            {"output", required_argument, NULL, 'o'},
                                            {"seed", required_argument, NULL, SEED},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *output = NULL;
    for (int option; (option = getopt_long(argc, argv, "o:h", options, NULL)) != -1;) {
        if (option == BASE)
            gate->base = optarg;
        else if (option == SEED)
            gate->seed = optarg;
        else if (option == 'o')
            output = optarg;
        else
            return option == 'h' ? 0 : 2;
    }
    gate->plan = argc > optind ? argv[optind] : "gate";
    if (gate->base == NULL || argc > optind + 1) {
        usage(stderr);
        return 2;
    }
    gate->output = output != NULL ? words("%s", output) : default_output();
    return -1;
}

int gate_main(int argc, char **argv)
{
    struct gate gate = {0};
    int status = read_arguments(&gate, argc, argv);
    if (status == 0)
        usage(stdout);
    if (status >= 0)
        return status;
    char *base = prepare(gate.base);
    status = 1;
    if (base != NULL && setenv("MILLBENCH_BASE", base, 1) == 0 && (status = measure(&gate)) == 0)
        status = judge(&gate);
    free(base);
    free(gate.output);
    return status;
}
