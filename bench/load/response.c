/*
 * response.c: where a reply ends, and what it says on the way there.
 */
#include "load/response.h"

#define CHUNK_DIGITS_MAX 15
#define LINE_MAX_BYTES   4096 /* of a chunk's extensions, of one trailer */

/* -- the head ---------------------------------------------------------------------------------------------------- */

/* What the fields say, before it is known which of it counts. */
struct fields {
    int64_t length; /* −1: none */
    bool chunked, close, keep_alive;
};

/* Takes a line with its CR LF off the input. */
static enum response_result take_line(struct span *input, struct span *line)
{
    const uint8_t *end = memchr(input->at, '\n', input->length);
    if (end == NULL)
        return RESPONSE_MORE;
    size_t length = (size_t)(end - input->at);
    if (length == 0 || end[-1] != '\r')
        return RESPONSE_BAD;
    *line = span_take(input, length + 1);
    line->length -= 2;
    return RESPONSE_DONE;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* `HTTP/1.1 200 OK`; the reason and the blank before it may be missing. Returns false when it is none. */
static bool read_status_line(struct span line, int *minor, int *status)
{
    const uint8_t *at = line.at;
    if (line.length < 12 || memcmp(at, "HTTP/1.", 7) != 0 || (at[7] != '0' && at[7] != '1') || at[8] != ' ')
        return false;
    if (!is_digit(at[9]) || !is_digit(at[10]) || !is_digit(at[11]) || (line.length > 12 && at[12] != ' '))
        return false;
    *minor = at[7] - '0';
    *status = (at[9] - '0') * 100 + (at[10] - '0') * 10 + (at[11] - '0');
    return *status >= 100 && *status <= 599;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static struct span trim(struct span text)
{
    while (text.length > 0 && is_blank(text.at[0]))
        span_take(&text, 1);
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

static void read_connection(struct fields *fields, struct span value)
{
    while (value.length > 0) {
        const uint8_t *comma = memchr(value.at, ',', value.length);
        size_t length = comma != NULL ? (size_t)(comma - value.at) : value.length;
        struct span option = trim(span_take(&value, length));
        fields->close |= span_is_ignoring_case(option, "close");
        fields->keep_alive |= span_is_ignoring_case(option, "keep-alive");
        if (value.length > 0)
            span_take(&value, 1);
    }
}

/* Lengths that differ would let two readers see two ends; so would a coding that is not chunked alone. */
static bool read_field(struct fields *fields, struct span name, struct span value)
{
    if (name.length == 14 && span_is_ignoring_case(name, "Content-Length")) {
        int64_t length = span_number(value);
        if (length < 0 || (fields->length >= 0 && fields->length != length))
            return false;
        fields->length = length;
    } else if (name.length == 17 && span_is_ignoring_case(name, "Transfer-Encoding")) {
        if (fields->chunked || !span_is_ignoring_case(value, "chunked"))
            return false;
        fields->chunked = true;
    } else if (name.length == 10 && span_is_ignoring_case(name, "Connection")) {
        read_connection(fields, value);
    }
    return true;
}

/* A blank in or before the name is a folded line or a field that others would read under another name. */
static bool read_line(struct fields *fields, struct span line)
{
    const uint8_t *colon = memchr(line.at, ':', line.length);
    if (colon == NULL || colon == line.at || is_blank(colon[-1]) || is_blank(line.at[0]))
        return false;
    struct span name = span_take(&line, (size_t)(colon - line.at));
    if (((name.at[0] | 0x20) != 'c' && (name.at[0] | 0x20) != 't') ||
        (name.length != 14 && name.length != 17 && name.length != 10))
        return true; /* the most are none of ours */
    span_take(&line, 1);
    return read_field(fields, name, trim(line));
}

static enum response_result read_fields(struct fields *fields, struct span *input)
{
    struct span line;
    for (;;) {
        enum response_result result = take_line(input, &line);
        if (result != RESPONSE_DONE)
            return result;
        if (line.length == 0)
            return RESPONSE_DONE;
        if (!read_line(fields, line))
            return RESPONSE_BAD;
    }
}

static enum response_result decide(struct response_head *head, const struct fields *fields, int minor, bool to_head)
{
    if (fields->chunked && (fields->length >= 0 || minor == 0))
        return RESPONSE_BAD;
    head->keep_alive = !fields->close && (minor == 1 || fields->keep_alive);
    head->length = 0;
    if (to_head || head->status == 204 || head->status == 304) {
        head->framing = RESPONSE_EMPTY;
    } else if (fields->chunked) {
        head->framing = RESPONSE_CHUNKED;
    } else if (fields->length >= 0) {
        head->framing = RESPONSE_LENGTH;
        head->length = (uint64_t)fields->length;
    } else {
        head->framing = RESPONSE_CLOSE;
        head->keep_alive = false;
    }
    return RESPONSE_DONE;
}

/* A head that has not ended by then is not waited for. */
static enum response_result or_too_long(enum response_result result, size_t length)
{
    return result == RESPONSE_MORE && length >= RESPONSE_HEAD_MAX ? RESPONSE_BAD : result;
}

/* Bytes that cannot begin a status line are refused before its end has come. */
static bool begins_well(struct span input)
{
    static const char version[] = "HTTP/1.";
    size_t length = input.length < sizeof version - 1 ? input.length : sizeof version - 1;
    return memcmp(input.at, version, length) == 0;
}

enum response_result response_parse_head(struct response_head *head, struct span input, bool to_head)
{
    struct span left = input, line;
    for (;;) {
        struct fields fields = {.length = -1};
        int minor = 0;
        if (!begins_well(left))
            return RESPONSE_BAD;
        enum response_result result = take_line(&left, &line);
        if (result != RESPONSE_DONE)
            return or_too_long(result, input.length);
        if (!read_status_line(line, &minor, &head->status) || head->status == 101)
            return RESPONSE_BAD;
        result = read_fields(&fields, &left);
        if (result != RESPONSE_DONE)
            return or_too_long(result, input.length);
        head->head_bytes = input.length - left.length;
        if (head->head_bytes > RESPONSE_HEAD_MAX)
            return RESPONSE_BAD;
        if (head->status >= 200)
            return decide(head, &fields, minor, to_head);
    }
}

/* -- chunks ------------------------------------------------------------------------------------------------------ */

enum stage {
    SIZE,      /* digits */
    EXTENSION, /* until CR */
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,      /* the first byte of a line */
    TRAILER_LINE, /* the rest of it, until CR */
    TRAILER_LF,
    END_LF,
    END,
};

static int hex_value(uint8_t byte)
{
    if (is_digit(byte))
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool size_byte(struct response_chunks *chunks, uint8_t byte)
{
    int value = hex_value(byte);
    if (value >= 0) {
        chunks->left = chunks->left * 16 + (uint64_t)value;
        return ++chunks->digits <= CHUNK_DIGITS_MAX;
    }
    if (chunks->digits == 0 || (byte != '\r' && byte != ';' && !is_blank(byte)))
        return false;
    chunks->stage = byte == '\r' ? SIZE_LF : EXTENSION;
    return true;
}

/* A line whose words do not matter: until CR, and not for ever. */
static bool line_byte(struct response_chunks *chunks, uint8_t byte, enum stage after)
{
    if (byte == '\r') {
        chunks->line_bytes = 0;
        chunks->stage = (uint8_t)after;
        return true;
    }
    return byte != '\n' && ++chunks->line_bytes <= LINE_MAX_BYTES;
}

static bool lf(struct response_chunks *chunks, uint8_t byte, enum stage after)
{
    chunks->stage = (uint8_t)after;
    return byte == '\n';
}

static bool trailer_byte(struct response_chunks *chunks, uint8_t byte)
{
    chunks->stage = byte == '\r' ? END_LF : TRAILER_LINE;
    return byte != '\n' && byte != ':' && !is_blank(byte);
}

/* Everything but a chunk's data. Returns false when the byte cannot be there. */
static bool frame_byte(struct response_chunks *chunks, uint8_t byte)
{
    switch ((enum stage)chunks->stage) {
    case SIZE:
        return size_byte(chunks, byte);
    case EXTENSION:
        return line_byte(chunks, byte, SIZE_LF);
    case SIZE_LF:
        return lf(chunks, byte, chunks->left > 0 ? DATA : TRAILER);
    case DATA_CR:
        chunks->stage = DATA_LF;
        return byte == '\r';
    case DATA_LF:
        chunks->digits = 0;
        return lf(chunks, byte, SIZE);
    case TRAILER:
        return trailer_byte(chunks, byte);
    case TRAILER_LINE:
        return line_byte(chunks, byte, TRAILER_LF);
    case TRAILER_LF:
        return lf(chunks, byte, TRAILER);
    case END_LF:
        return lf(chunks, byte, END);
    case DATA:
    case END:
        break;
    }
    return false;
}

enum response_result response_parse_chunk(struct response_chunks *chunks, struct span *input, struct span *data)
{
    *data = span_of(input->at, 0);
    while (input->length > 0 && chunks->stage != END) {
        if (chunks->stage == DATA) {
            *data = span_take(input, input->length < chunks->left ? input->length : chunks->left);
            chunks->left -= data->length;
            if (chunks->left == 0)
                chunks->stage = DATA_CR;
            return RESPONSE_MORE;
        }
        if (!frame_byte(chunks, span_take(input, 1).at[0]))
            return RESPONSE_BAD;
    }
    return chunks->stage == END ? RESPONSE_DONE : RESPONSE_MORE;
}
