/*
 * signals.h: signals become bytes on a descriptor, in this file alone.
 *
 * Handlers (not blocked or ignored signals) are used so that whatever a process executes starts with default signals.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

/* From now on each of these signals (a list ended by 0) puts its number as one byte on the descriptor returned, which
 * polls readable then. A process that was forked since and has not called this itself treats them by their default.
 * Returns the descriptor, owned by this file; −1 with errno. */
int signals_open(const int *numbers) __attribute__((warn_unused_result));

/* Returns the number of the next signal, 0 when there is none. Never blocks. */
int signals_next(void);

/* Takes the signals of a forked child, all of those that signals_open was given, back to their defaults. */
void signals_reset_all(void);

/* From now on these signals do nothing here, and what they do by default in whatever is executed. */
void signals_disregard(const int *numbers);

#endif
