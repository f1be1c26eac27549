/*
 * fuzz_status.c: libFuzzer entry for the head of a request to the status listener.
 *
 * Any bytes give one of the known decisions; a decision, once made, stays whatever comes after it; and what is decided
 * only depends on the bytes up to the head's end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "control/status_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_known(int status)
{
    static const int known[] = {0, 200, 400, 404, 405, 414, 431, 501, 505};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i] == status)
            return true;
    return false;
}

/* A copy of its own, so that a byte read beyond it is seen. */
static struct status_request parse_prefix(const uint8_t *data, size_t length)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    CHECK(exact != NULL);
    memcpy(exact, data, length);
    struct status_request request = status_request_parse(span_of(exact, length));
    free(exact);
    CHECK(is_known(request.status));
    CHECK(request.status != 200 || (request.resource >= STATUS_PAGE && request.resource <= STATUS_HEALTH));
    return request;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > STATUS_REQUEST_BYTES)
        size = STATUS_REQUEST_BYTES;
    struct status_request whole = parse_prefix(data, size);
    CHECK(size < STATUS_REQUEST_BYTES || whole.status != 0);
    size_t step = size / 64 + 1;
    for (size_t length = 0; length < size; length += step) {
        struct status_request prefix = parse_prefix(data, length);
        if (prefix.status == 0)
            continue;
        CHECK(prefix.status == whole.status);
        CHECK(prefix.status != 200 || (prefix.head == whole.head && prefix.resource == whole.resource));
    }
    return 0;
}
