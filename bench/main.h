/* main.h: what all of millbench shares: the number of its method, and its subcommands. */
#ifndef BENCH_MAIN_H
#define BENCH_MAIN_H

/* Goes up when results are no longer comparable with those of before. Recorded in every run. */
#define MILLBENCH_METHOD 1

#endif
