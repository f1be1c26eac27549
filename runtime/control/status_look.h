/*
 * status_look.h: the style sheet and the script of the status page.
 */
#ifndef CONTROL_STATUS_LOOK_H
#define CONTROL_STATUS_LOOK_H

extern const char status_look_style[];
extern const char status_look_script[];

#endif
