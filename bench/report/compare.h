/* compare.h: `millbench compare`: what differs between two runs of one build on one machine. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

/* Exit status: 0 no difference, 3 a difference, 1 they cannot be compared, 2 bad usage. */
int compare_main(int argc, char **argv);

#endif
