/*
 * sample.c: prints the sample configuration that is installed. A program of its own, used while building.
 */
#include "control/option.h"

int main(void)
{
    option_print_sample(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
