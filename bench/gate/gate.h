/* gate.h: the subcommand. */
#ifndef GATE_GATE_H
#define GATE_GATE_H

/* Builds the base, measures both in one run and judges: 0 nothing has become worse, 3 something has, 1 that could not be told,
 * 2 bad usage, 130 interrupted. */
int gate_main(int argc, char **argv);

#endif
