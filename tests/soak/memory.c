/* memory.c: private memory from /proc, and a straight line through it. */
#include "memory.h"

#include <math.h>
#include <stdio.h>

#include "worker.h"

enum { MEMORY_FIRST = MEMORY_SAMPLES / 2 + 1 }; /* of the second half */

static double memory_millions[MEMORY_SAMPLES + 1], memory_mib[MEMORY_SAMPLES + 1];

/* The memory that the process shares with no other: what would be free without it. -1 when it cannot be read. */
static long memory_private_kb(pid_t pid)
{
    char path[64], line[256];
    long sum = -1, figure;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Private_Clean: %ld", &figure) == 1 || sscanf(line, "Private_Dirty: %ld", &figure) == 1)
            sum = (sum < 0 ? 0 : sum) + figure;
    }
    if (file)
        fclose(file);
    return sum;
}

void memory_sample(int number, long request_count)
{
    memory_millions[number] = (double)request_count / 1e6;
    memory_mib[number] = (double)worker_sum(memory_private_kb) / 1024;
}

/*
 * Least squares y = a + b x, and the one-sided 95 % upper bound of b: b + t(0.95, n - 2) s / sqrt(Sxx), where
 * s^2 = sum of squared residuals / (n - 2) (Draper and Smith, Applied Regression Analysis, section 1.4). The quantile
 * is that of the normal distribution, z = 1.6449, with the first two terms of its expansion in 1 / (n - 2) (Abramowitz
 * and Stegun 26.7.5): for the 48 degrees of freedom here right in four digits.
 */
static struct memory_growth memory_fit(const double *x, const double *y, int count)
{
    const double z = 1.6448536, freedom = count - 2;
    const double t =
        z + (pow(z, 3) + z) / (4 * freedom) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * freedom * freedom);
    double x_mean = 0, y_mean = 0, sxx = 0, sxy = 0, residuals = 0, slope;

    for (int i = 0; i < count; i++) {
        x_mean += x[i] / count;
        y_mean += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        sxx += (x[i] - x_mean) * (x[i] - x_mean);
        sxy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    slope = sxy / sxx;
    for (int i = 0; i < count; i++)
        residuals += pow(y[i] - y_mean - slope * (x[i] - x_mean), 2);
    return (struct memory_growth){.slope = slope, .upper_bound = slope + t * sqrt(residuals / freedom / sxx)};
}

struct memory_growth memory_growth(void)
{
    return memory_fit(memory_millions + MEMORY_FIRST, memory_mib + MEMORY_FIRST, MEMORY_SAMPLES + 1 - MEMORY_FIRST);
}

void memory_print(void)
{
    struct memory_growth growth = memory_growth();

    printf("# private memory (Private_Clean + Private_Dirty) of %zu workers: %.2f MiB at first, %.2f after half, %.2f "
           "at last\n",
           worker_count(), memory_mib[0], memory_mib[MEMORY_FIRST], memory_mib[MEMORY_SAMPLES]);
    printf("# MiB at each tenth:");
    for (int i = 0; i <= MEMORY_SAMPLES; i += MEMORY_SAMPLES / 10)
        printf(" %.2f", memory_mib[i]);
    printf("\n# second half: slope %.3f MiB per million requests, 95 %% upper bound %.3f\n", growth.slope,
           growth.upper_bound);
}
