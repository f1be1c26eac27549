/* digest.c: SHA-256 through libcrypto; see digest.h. */
#include "observe/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"

#define PIECE_BYTES 65536

static EVP_MD_CTX *begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    return context;
}

static void finish(EVP_MD_CTX *context, char digest[DIGEST_BYTES])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    CHECK(EVP_DigestFinal_ex(context, bytes, &length) == 1 && 2 * length + 1 == DIGEST_BYTES);
    EVP_MD_CTX_free(context);
    for (unsigned i = 0; i < length; i++)
        snprintf(digest + 2 * i, 3, "%02x", bytes[i]);
}

void digest_of_bytes(char digest[DIGEST_BYTES], const void *bytes, size_t length)
{
    EVP_MD_CTX *context = begin();
    CHECK(EVP_DigestUpdate(context, bytes, length) == 1);
    finish(context, digest);
}

/* Returns how many bytes there were, -1 with errno. */
static int64_t add_all(EVP_MD_CTX *context, int fd)
{
    static _Thread_local char piece[PIECE_BYTES];
    int64_t sum = 0;
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got == 0)
            return sum;
        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0) {
            CHECK(EVP_DigestUpdate(context, piece, (size_t)got) == 1);
            sum += got;
        }
    }
}

int digest_of_file(char digest[DIGEST_BYTES], const char *path, int64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    EVP_MD_CTX *context = begin();
    int64_t sum = add_all(context, fd);
    int error = errno;
    finish(context, digest);
    close(fd);
    if (size != NULL)
        *size = sum;
    errno = error;
    return sum < 0 ? -1 : 0;
}
