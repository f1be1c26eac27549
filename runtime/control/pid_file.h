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

/* Writes a line to the file of this name with `.reload` behind it: how a reload or an upgrade has ended. The same way. */
int pid_file_write_outcome(const char *path, const char *line) __attribute__((warn_unused_result));

/* Removes it, and the other, when it holds this process's number. */
void pid_file_remove(const char *path);

#endif
