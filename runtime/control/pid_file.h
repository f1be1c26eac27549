/*
 * pid_file.h: the file that tells the master's process number, and by its presence that the server is ready.
 */
#ifndef CONTROL_PID_FILE_H
#define CONTROL_PID_FILE_H

/* All do nothing for NULL. */

/* Whether the file can be written, by writing and removing its other name. Returns 0, −1 with errno. */
int pid_file_check(const char *path) __attribute__((warn_unused_result));

/* Written under another name first, so that nobody reads half a number.
 * Returns 0, −1 with errno. */
int pid_file_write(const char *path) __attribute__((warn_unused_result));

/* Removes it when it holds this process's number. */
void pid_file_remove(const char *path);

#endif
