/*
 * status_request.h: the head of a request to the status listener. Pure: bytes in, a decision out.
 */
#ifndef CONTROL_STATUS_REQUEST_H
#define CONTROL_STATUS_REQUEST_H

#include <stdbool.h>

#include "base/span.h"

#define STATUS_REQUEST_BYTES 8192 /* of a head */

enum status_resource { STATUS_PAGE, STATUS_JSON, STATUS_METRICS, STATUS_TEXT, STATUS_HEALTH };

struct status_request {
    int status; /* 0: more must come; 200; or what to answer instead */
    bool head;  /* HEAD: no body is wanted */
    enum status_resource resource;
};

/* The bytes that have come so far, from the first; with STATUS_REQUEST_BYTES of them no more can come. What follows the head
 * is not looked at. */
struct status_request status_request_parse(struct span bytes);

#endif
