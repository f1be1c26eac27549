/* report.h: `millbench report`: a run's folder gets its results and the pages that show them. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

int report_main(int argc, char **argv);

/* Computes the results of the folder and writes all files. Returns 0, or -1 after a line on standard error. */
int report_write(const char *folder, const char *who);

#endif
