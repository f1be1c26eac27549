/* layout.c: which CPUs serve and which generate load; see layout.h. */
#include "observe/layout.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static int first_of(const cpu_set_t *set)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set))
            return cpu;
    return -1;
}

/* Moves all threads of the core of `cpu` to the other set. */
static void move_core(cpu_set_t *to, cpu_set_t *from, int cpu, const struct layout_cores *cores)
{
    for (int other = 0; other < CPU_SETSIZE; other++)
        if (CPU_ISSET(other, from) && cores->core[other] == cores->core[cpu]) {
            CPU_CLR(other, from);
            CPU_SET(other, to);
        }
}

/* The sets of whole cores, taken in turn, so that both get half of them; the first is the server's. */
static void divide(struct layout *layout, const cpu_set_t *mask, const struct layout_cores *cores)
{
    cpu_set_t left = *mask;
    for (int turn = 0; CPU_COUNT(&left) > 0; turn++)
        move_core(turn % 2 == 0 ? &layout->server : &layout->generator, &left, first_of(&left), cores);
}

static void keep_first(cpu_set_t *set)
{
    int first = first_of(set);
    CPU_ZERO(set);
    CPU_SET(first, set);
}

const char *layout_choose(struct layout *layout, const char *kind, const cpu_set_t *mask,
                          const struct layout_cores *cores)
{
    *layout = (struct layout){0};
    if (strcmp(kind, "shared") == 0) {
        layout->server = layout->generator = *mask;
    } else {
        divide(layout, mask, cores);
        if (CPU_COUNT(&layout->generator) == 0)
            return "it needs two cores: one serves, one generates the load (or the layout \"shared\", whose figures "
                   "mean less)";
        if (strcmp(kind, "1+1") == 0) {
            keep_first(&layout->server);
            keep_first(&layout->generator);
        }
    }
    layout->server_count = CPU_COUNT(&layout->server);
    layout->generator_count = CPU_COUNT(&layout->generator);
    return NULL;
}

void layout_read_cores(struct layout_cores *cores)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[96];
        int package = 0, core = -1;
        cores->core[cpu] = -1 - cpu;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        if (fscanf(file, "%d", &core) != 1)
            core = -1;
        fclose(file);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        file = fopen(path, "re");
        if (file != NULL && fscanf(file, "%d", &package) == 1 && core >= 0)
            cores->core[cpu] = package * CPU_SETSIZE + core;
        if (file != NULL)
            fclose(file);
    }
}

char *layout_text(const cpu_set_t *set)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    CHECK(out != NULL);
    const char *comma = "";
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, set))
            continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        fprintf(out, last > cpu ? "%s%d-%d" : "%s%d", comma, cpu, last);
        comma = ",";
        cpu = last;
    }
    CHECK(fclose(out) == 0);
    return text;
}
