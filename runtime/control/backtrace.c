/*
 * backtrace.c: names for addresses, with libdwfl; and the addresses of a thread that runs, with ptrace(2).
 */
#include "control/backtrace.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES_MAX 32
#define MEMFD      "/memfd:"

/* -- modules
 * ---------------------------------------------------------------------------------------------------------------- */

/* One line of the maps, as far as it matters. */
struct mapping {
    uintptr_t start;
    uint64_t offset;
    char path[512];
};

/* Returns false for a line that names no file. */
static bool read_mapping(const char *line, struct mapping *mapping)
{
    unsigned long long start, offset;
    int path = 0;
    if (sscanf(line, "%llx-%*x %*4s %llx %*s %*u %n", &start, &offset, &path) < 2 || path == 0 || line[path] != '/')
        return false;
    mapping->start = (uintptr_t)start;
    mapping->offset = offset;
    snprintf(mapping->path, sizeof mapping->path, "%s", line + path);
    return true;
}

/* Returns a descriptor of its own for the file that was mapped, −1: it is not there any more. */
static int open_mapped(const struct backtrace_maps *maps, struct mapping *mapping)
{
    size_t prefix = strlen(MEMFD);
    if (strncmp(mapping->path, MEMFD, prefix) != 0)
        return open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *end = strstr(mapping->path, " (deleted)");
    if (end != NULL)
        *end = '\0';
    memmove(mapping->path, mapping->path + prefix, strlen(mapping->path + prefix) + 1);
    for (size_t i = 0; i < maps->object_count; i++)
        if (strcmp(maps->objects[i].name, mapping->path) == 0)
            return fcntl(maps->objects[i].fd, F_DUPFD_CLOEXEC, 3);
    return -1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The first mapping of a file begins with its ELF header: that is its module. */
static void report_module(Dwfl *dwfl, const struct backtrace_maps *maps, struct mapping *mapping)
{
    if (mapping->offset != 0)
        return;
    int fd = open_mapped(maps, mapping);
    if (fd < 0)
        return;
    if (dwfl_report_elf(dwfl, base_name(mapping->path), mapping->path, fd, mapping->start, false) == NULL)
        close(fd);
}

static Dwfl *open_modules(const struct backtrace_maps *maps)
{
    static char *no_search = NULL;
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .debuginfo_path = &no_search};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    char *text = strndup(maps->text, maps->length), *place = NULL, last[600] = "";
    if (dwfl == NULL || text == NULL) {
        free(text);
        return dwfl;
    }
    dwfl_report_begin(dwfl);
    for (char *line = strtok_r(text, "\n", &place); line != NULL; line = strtok_r(NULL, "\n", &place)) {
        struct mapping mapping;
        if (!read_mapping(line, &mapping))
            continue;
        char path[sizeof mapping.path];
        memcpy(path, mapping.path, sizeof path);
        if (strcmp(path, last) != 0)
            report_module(dwfl, maps, &mapping);
        snprintf(last, sizeof last, "%s", path);
    }
    free(text);
    dwfl_report_end(dwfl, NULL, NULL);
    return dwfl;
}

/* -- the line
 * ---------------------------------------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t length, room;
};

static void put(struct text *text, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->length, text->room - text->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length < text->room - text->length ? (size_t)length : text->room - text->length - 1;
}

/* A return address belongs to the line after the call, perhaps of another function. */
static void put_frame(struct text *text, Dwfl *dwfl, uintptr_t address, bool is_return)
{
    Dwarf_Addr at = is_return ? address - 1 : address;
    Dwfl_Module *module = dwfl == NULL ? NULL : dwfl_addrmodule(dwfl, at);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    int line = 0;
    const char *name = NULL;
    const char *file = NULL;
    if (module != NULL) {
        name = dwfl_module_addrinfo(module, at, &offset, &symbol, NULL, NULL, NULL);
        Dwfl_Line *of = dwfl_module_getsrc(module, at);
        file = of == NULL ? NULL : dwfl_lineinfo(of, NULL, &line, NULL, NULL, NULL);
    }
    if (name != NULL && file != NULL) {
        put(text, "%s at %s:%d", name, base_name(file), line);
        return;
    }
    Dwarf_Addr start = 0;
    const char *of = module == NULL ? NULL : dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    if (name != NULL)
        put(text, "%s+0x%llx in %s", name, (unsigned long long)offset, of);
    else if (of != NULL)
        put(text, "%s+0x%llx", of, (unsigned long long)(address - start));
    else
        put(text, "0x%llx", (unsigned long long)address);
}

static void put_frames(char line[BACKTRACE_BYTES], Dwfl *dwfl, const uintptr_t *frames, size_t frame_count)
{
    struct text text = {.bytes = line, .room = BACKTRACE_BYTES};
    line[0] = '\0';
    for (size_t i = 0; i < frame_count; i++) {
        if (i == FRAMES_MAX || text.length + 200 > text.room) {
            put(&text, " < ...");
            return;
        }
        if (i > 0)
            put(&text, " < ");
        put_frame(&text, dwfl, frames[i], i > 0);
    }
}

void backtrace_of_dead(char line[BACKTRACE_BYTES], const struct backtrace_maps *maps, const uintptr_t *frames,
                       size_t frame_count)
{
    Dwfl *dwfl = open_modules(maps);
    put_frames(line, dwfl, frames, frame_count);
    if (dwfl != NULL)
        dwfl_end(dwfl);
}

/* -- a thread that runs
 * --------------------------------------------------------------------------------------------------- */

struct unwound {
    uintptr_t frames[FRAMES_MAX + 1];
    size_t count;
};

/* All but the first, and those of signal handlers, are calls: libdwfl gives their return addresses. */
static int take_frame(Dwfl_Frame *frame, void *context)
{
    struct unwound *unwound = context;
    Dwarf_Addr address;
    bool is_activation;
    if (!dwfl_frame_pc(frame, &address, &is_activation))
        return DWARF_CB_ABORT;
    unwound->frames[unwound->count++] = (uintptr_t)address;
    return unwound->count <= FRAMES_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* PTRACE_ATTACH would stop the whole process with a signal; an interrupt stops the one thread, and leaves no trace. */
static int stop_thread(pid_t thread)
{
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0)
        return -1;
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0)
        return -1;
    while (waitpid(thread, &status, __WALL) < 0)
        if (errno != EINTR)
            return -1;
    if (WIFSTOPPED(status))
        return 0;
    errno = ESRCH;
    return -1;
}

int backtrace_of_thread(char line[BACKTRACE_BYTES], const struct backtrace_maps *maps, pid_t thread)
{
    struct unwound unwound = {.count = 0};
    Dwfl *dwfl = open_modules(maps); /* takes its time, so it comes first */
    if (dwfl == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (stop_thread(thread) < 0) {
        int error = errno;
        dwfl_end(dwfl);
        errno = error;
        return -1;
    }
    if (dwfl_linux_proc_attach(dwfl, thread, true) == 0)
        (void)dwfl_getthread_frames(dwfl, thread, take_frame, &unwound);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    put_frames(line, dwfl, unwound.frames, unwound.count);
    dwfl_end(dwfl);
    return 0;
}
