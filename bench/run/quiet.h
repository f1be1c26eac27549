/* quiet.h: whether the machine is fit to be measured on now. */
#ifndef RUN_QUIET_H
#define RUN_QUIET_H

#include "observe/layout.h"

/* Looks for a second, and warns on standard error of other work, of stolen time, of ports in TIME_WAIT and of limits. */
void quiet_warn(const struct layout *layout);

#endif
