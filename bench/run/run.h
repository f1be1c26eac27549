/* run.h: the subcommand. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

int run_main(int argc, char **argv);

#endif
