#include "control/status.h"
#include <unistd.h>
_Noreturn void status_main(const struct status_start *start) { char b; (void)!read(start->channel, &b, 1); _exit(0); }
int status_ask(const struct address *address, const char *path, FILE *to) { (void)address; (void)path; (void)to; return -1; }
