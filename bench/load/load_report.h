/*
 * load_report.h: what `millbench load` prints: lines for people, and millbench-load/1 for programs.
 */
#ifndef LOAD_LOAD_REPORT_H
#define LOAD_LOAD_REPORT_H

#include <stdio.h>

#include "load/crew.h"

/* Before the load: what is going to be done. */
void load_report_plan(FILE *out, const struct load_options *options);

void load_report_text(FILE *out, const struct load_options *options, const struct crew_result *result);

/* Returns 0, −1 with errno. */
int load_report_json(FILE *out, const struct load_options *options, const struct crew_result *result) MUST_CHECK;

/* Whether all was done as asked, and every reply was verified. */
bool load_report_is_right(const struct crew_result *result);

#endif
