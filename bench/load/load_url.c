/*
 * load_url.c: taking a URL apart, and writing a request as short as it can be.
 */
#include "load/load_url.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load/load_options.h"

static const char *copy(char *to, size_t room, const char *from, size_t length)
{
    if (length == 0 || length >= room)
        return length == 0 ? "no host or port" : "its host is too long";
    memcpy(to, from, length);
    to[length] = '\0';
    return NULL;
}

/* host, host:port or [IPv6]:port */
static const char *parse_authority(struct load_url *url, const char *text, size_t length)
{
    const char *why = copy(url->authority, sizeof url->authority, text, length);
    if (why != NULL)
        return why;
    const char *host = url->authority, *end = host + strcspn(host, ":"), *port = NULL;
    if (host[0] == '[') {
        host++;
        end = strchr(host, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            return "no ] ends the address";
        port = end[1] == ':' ? end + 2 : NULL;
    } else {
        port = *end == ':' ? end + 1 : NULL;
    }
    why = copy(url->host, sizeof url->host, host, (size_t)(end - host));
    if (why != NULL)
        return why;
    if (port == NULL)
        port = "80";
    if (strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) < 1 || atoi(port) > 65535)
        return "its port is none";
    return copy(url->port, sizeof url->port, port, strlen(port));
}

const char *load_url_parse(struct load_url *url, const char *text)
{
    static const char scheme[] = "http://";
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return "a URL has no blanks and only ASCII: write them as %XX";
    if (strncasecmp(text, "https://", 8) == 0)
        return "only http:// is understood, no TLS";
    if (strncasecmp(text, scheme, sizeof scheme - 1) != 0)
        return "must begin with http://";
    text += sizeof scheme - 1;
    size_t length = strcspn(text, "/?#");
    if (memchr(text, '@', length) != NULL)
        return "no user name, please: use -H 'Authorization: …'";
    url->target = text + length;
    url->target_length = strcspn(url->target, "#");
    return parse_authority(url, text, length);
}

const char *load_url_resolve(const struct load_url *url, struct sockaddr_storage *address, socklen_t *length)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int status = getaddrinfo(url->host, url->port, &hints, &found);
    if (status != 0)
        return gai_strerror(status);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return NULL;
}

bool load_url_is_field(const char *text)
{
    size_t name = strcspn(text, ":");
    if (name == 0 || text[name] != ':')
        return false;
    for (size_t i = 0; text[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == 0x7f || (byte < ' ' && byte != '\t') || (i < name && (byte <= ' ' || byte > '~')))
            return false;
    }
    return true;
}

static bool has_field(const struct load_options *options, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < options->field_count; i++)
        if (strncasecmp(options->fields[i], name, length) == 0 && options->fields[i][length] == ':')
            return true;
    return false;
}

/* Connection comes last, where a server that computes nothing can see it (bench/micro/null_http.c). */
char *load_url_request(const struct load_url *url, const struct load_options *options)
{
    char *text = NULL;
    size_t length = 0;
    bool sends = strcmp(options->method, "POST") == 0 || strcmp(options->method, "PUT") == 0;
    FILE *out = open_memstream(&text, &length);
    CHECK(out != NULL);
    fprintf(out, "%s %s%.*s HTTP/1.1\r\n", options->method, url->target[0] == '/' ? "" : "/", (int)url->target_length,
            url->target);
    if (!has_field(options, "Host"))
        fprintf(out, "Host: %s\r\n", url->authority);
    for (int i = 0; i < options->field_count; i++)
        fprintf(out, "%s\r\n", options->fields[i]);
    if (sends && !has_field(options, "Content-Length"))
        fputs("Content-Length: 0\r\n", out);
    if (options->closes && !has_field(options, "Connection"))
        fputs("Connection: close\r\n", out);
    fputs("\r\n", out);
    CHECK(fclose(out) == 0 && text != NULL);
    return text;
}
