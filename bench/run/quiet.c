/* quiet.c: whether the machine is fit to be measured on now; see quiet.h. */
#include "run/quiet.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "file.h"
#include "observe/procfs.h"
#include "run/child.h"

#define LOOK_US       CLOCK_SECOND
#define BUSY          0.03 /* what voids a round as well */
#define STEAL         0.01
#define TIME_WAIT_MAX 10000
#define FILES         4096

#define TEXT_BYTES 65536

static void read_cpus(struct procfs_cpu *sum, const struct layout *layout)
{
    static char text[TEXT_BYTES];
    FILE *file = fopen("/proc/stat", "re");
    size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    *sum = (struct procfs_cpu){0};
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        struct procfs_cpu one;
        bool used = CPU_ISSET(cpu, &layout->server) || CPU_ISSET(cpu, &layout->generator);
        if (used && procfs_cpu(text, cpu, (int)sysconf(_SC_CLK_TCK), &one)) {
            sum->busy_us += one.busy_us;
            sum->steal_us += one.steal_us;
        }
    }
}

static void warn_of_others(const struct layout *layout)
{
    struct procfs_cpu before, after;
    read_cpus(&before, layout);
    int64_t begun_us = clock_now_us();
    child_sleep(LOOK_US);
    read_cpus(&after, layout);
    double passed_us = (double)(clock_now_us() - begun_us);
    double busy = (double)(after.busy_us - before.busy_us) / passed_us;
    double steal = (double)(after.steal_us - before.steal_us) / passed_us;
    if (busy > BUSY)
        fprintf(stderr,
                "millbench run: warning: other programs take %.0f %% of a CPU: rounds with more than 3 %% are void\n",
                100 * busy);
    if (steal > STEAL)
        fprintf(stderr,
                "millbench run: warning: the hypervisor takes %.1f %% of a CPU: rounds with more than 1 %% are void\n",
                100 * steal);
}

void quiet_warn(const struct layout *layout)
{
    char text[4096];
    int64_t time_wait;
    struct rlimit files;
    warn_of_others(layout);
    FILE *file = fopen("/proc/net/sockstat", "re");
    size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    if (procfs_time_wait(text, &time_wait) && time_wait > TIME_WAIT_MAX)
        fprintf(stderr, "millbench run: warning: %lld connections are in TIME_WAIT: wait a minute\n",
                (long long)time_wait);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FILES)
        fprintf(stderr,
                "millbench run: warning: %llu open files are few (ulimit -H -n): 4096 are enough for every plan\n",
                (unsigned long long)files.rlim_max);
}
