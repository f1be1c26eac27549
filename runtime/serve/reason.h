/*
 * reason.h: the names of HTTP's statuses. Pure.
 * Source: RFC 9110 section 15, RFC 6585.
 */
#ifndef SERVE_REASON_H
#define SERVE_REASON_H

/* Never NULL; "Unknown" for one that has no name here. */
const char *reason_of(int status);

#endif
