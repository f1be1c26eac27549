/* load.h: `millbench load`, a load generator for HTTP/1.1. */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

/* Returns the exit status: 0 all was as asked and every reply verified, 1 not, 2 bad usage. */
int load_main(int argc, char **argv);

#endif
