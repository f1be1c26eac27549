/*
 * backtrace.c: names addresses with the help of libdw. Runs in a short-lived child of the master.
 * Which files a process had loaded it takes from the text of its maps alone, so that the dead and the living are alike.
 */
#include "control/backtrace.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/mapping.h"
#include "control/thread_copy.h"

#define BETWEEN     " < "
#define REST        " < ..."
#define FRAME_BYTES 256

struct naming { /* what it takes to name an address */
    Dwfl *dwfl; /* NULL when there was no memory for it: then files and addresses alone */
    struct span maps;
    struct backtrace *result;
};

struct place {        /* in a source */
    const char *file; /* NULL: not known */
    int line;
};

/* -- text -----------------------------------------------------------------------------------------------------------
 */

static void append(struct backtrace *result, const char *text)
{
    size_t length = strlen(text);
    memcpy(result->text + result->length, text, length + 1);
    result->length += length;
}

static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

/* There is always room left for the dots that stand for the rest. */
__attribute__((format(printf, 2, 3))) static void add(struct backtrace *result, const char *format, ...)
{
    char frame[FRAME_BYTES];
    va_list arguments;
    if (result->cut)
        return;
    va_start(arguments, format);
    vsnprintf(frame, sizeof frame, format, arguments);
    va_end(arguments);
    make_printable(frame);
    size_t needed = result->length + strlen(BETWEEN) + strlen(frame) + strlen(REST) + 1;
    if (result->frames == BACKTRACE_FRAMES_MAX || needed > sizeof result->text) {
        append(result, REST);
        result->cut = true;
        return;
    }
    append(result, result->frames == 0 ? "" : BETWEEN);
    append(result, frame);
    result->frames++;
}

/* -- lines of sources -----------------------------------------------------------------------------------------------
 */

static const char *last_part(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static struct place place_of_address(Dwarf_Die *unit, Dwarf_Addr address)
{
    struct place place = {0};
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    if (line != NULL && dwarf_lineno(line, &place.line) == 0 && place.line > 0)
        place.file = last_part(dwarf_linesrc(line, NULL, NULL));
    return place;
}

static int64_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    bool found = dwarf_formudata(dwarf_attr(die, name, &attribute), &number) == 0;
    return found ? (int64_t)number : -1;
}

/* Where an inlined function was called. */
static struct place place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined)
{
    struct place place = {.line = (int)number_of(inlined, DW_AT_call_line)};
    int64_t file = number_of(inlined, DW_AT_call_file);
    Dwarf_Files *files;
    if (place.line > 0 && file >= 0 && dwarf_getsrcfiles(unit, &files, NULL) == 0)
        place.file = last_part(dwarf_filesrc(files, (size_t)file, NULL, NULL));
    return place;
}

static void add_place(struct backtrace *result, const char *function, struct place place)
{
    if (place.file == NULL)
        add(result, "%s", function);
    else
        add(result, "%s at %s:%d", function, place.file, place.line);
}

/* The index of addresses that libdwfl asks first is made by gcc but not by clang, and it gives addresses between two
 * units to one of them. */
static Dwarf_Die *unit_of(Dwfl_Module *module, uintptr_t address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit != NULL && dwarf_haspc(unit, address - *bias) == 1)
        return unit;
    unit = NULL;
    while ((unit = dwfl_module_nextcu(module, unit, bias)) != NULL)
        if (dwarf_haspc(unit, address - *bias) == 1)
            return unit;
    return NULL;
}

/* The entries that enclose an address as they are nested in the unit, the innermost first; the caller frees them. */
static int scopes_of(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
    Dwarf_Die *found = NULL;
    int count = dwarf_getscopes(unit, address, &found);
    if (count > 0)
        count = dwarf_getscopes_die(&found[0], scopes);
    free(found);
    return count;
}

/* The function that an address lies in, and before it those that the compiler has put into it at this place.
 * Returns false, with nothing added, when there is no line for the address. */
static bool add_functions(struct backtrace *result, Dwfl_Module *module, uintptr_t address)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = unit_of(module, address, &bias), *scopes = NULL;
    struct place place = {0};
    if (unit != NULL)
        place = place_of_address(unit, address - bias);
    if (place.file == NULL)
        return false;
    const char *function = NULL;
    int count = scopes_of(unit, address - bias, &scopes);
    for (int i = 0; i < count && function == NULL; i++) {
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
            function = dwarf_diename(&scopes[i]);
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        const char *inlined = dwarf_diename(&scopes[i]);
        add_place(result, inlined == NULL ? "?" : inlined, place);
        place = place_of_call(unit, &scopes[i]);
    }
    free(scopes);
    if (function == NULL)
        function = dwfl_module_addrname(module, address);
    add_place(result, function == NULL ? "?" : function, place);
    return true;
}

/* -- frames ---------------------------------------------------------------------------------------------------------
 */

static bool add_symbol(const struct naming *naming, Dwfl_Module *module, uintptr_t address, bool exact)
{
    GElf_Off offset;
    GElf_Sym symbol;
    struct mapping mapping;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    if (name == NULL || !mapping_find(naming->maps, address, &mapping))
        return false;
    add(naming->result, "%s+0x%lx in %s", name, (unsigned long)offset + !exact, mapping.name);
    return true;
}

/* A return address may be the first of the next function or line: what called is before it. */
static void add_frame(const struct naming *naming, uintptr_t address, bool exact)
{
    struct mapping mapping;
    uintptr_t inside = address - !exact;
    Dwfl_Module *module = naming->dwfl == NULL ? NULL : dwfl_addrmodule(naming->dwfl, inside);
    if (module != NULL && add_functions(naming->result, module, inside))
        return;
    if (module != NULL && add_symbol(naming, module, inside, exact))
        return;
    if (mapping_find(naming->maps, inside, &mapping) && mapping.name[0] != '\0')
        add(naming->result, "%s+0x%lx", mapping.name, (unsigned long)(address - mapping.base));
    else
        add(naming->result, "0x%lx", (unsigned long)address);
}

/* -- files ----------------------------------------------------------------------------------------------------------
 */

static int open_object(const struct mapping *mapping, const struct backtrace_objects *objects)
{
    struct stat status;
    for (size_t i = 0; i < objects->count; i++)
        if (strcmp(objects->at[i].name, mapping->name) == 0 && fstat(objects->at[i].fd, &status) == 0 &&
            status.st_ino == mapping->inode)
            return fcntl(objects->at[i].fd, F_DUPFD_CLOEXEC, 0);
    return -1;
}

/* The kernel's code in every process is the same: ours will do. */
static int copy_vdso(const struct mapping *mapping)
{
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (write(fd, (const void *)getauxval(AT_SYSINFO_EHDR), mapping->end - mapping->start) <= 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whatever the text says is opened with this process's rights: it must not wait for a pipe or wind a tape. */
static int open_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int open_mapping(const struct mapping *mapping, const struct backtrace_objects *objects)
{
    if (mapping->memfd)
        return open_object(mapping, objects);
    if (strcmp(mapping->path, "[vdso]") == 0)
        return copy_vdso(mapping);
    return mapping->deleted || mapping->path[0] != '/' ? -1 : open_file(mapping->path);
}

static void report_modules(const struct naming *naming, const struct backtrace_objects *objects)
{
    struct mapping_cursor cursor = {.rest = naming->maps};
    struct mapping mapping;
    uintptr_t reported = 0;
    dwfl_report_begin(naming->dwfl);
    while (mapping_next(&cursor, &mapping)) {
        if (!mapping.executable || mapping.base == reported)
            continue;
        reported = mapping.base;
        int fd = open_mapping(&mapping, objects); /* libdwfl closes it if it can use it */
        if (fd >= 0 && dwfl_report_elf(naming->dwfl, mapping.name, mapping.path, fd, mapping.base, false) == NULL)
            close(fd);
    }
    dwfl_report_end(naming->dwfl, NULL, NULL);
}

static void begin(struct naming *naming, struct span maps, const struct backtrace_objects *objects,
                  struct backtrace *result)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    unsetenv("DEBUGINFOD_URLS");
    *result = (struct backtrace){0};
    *naming = (struct naming){.dwfl = dwfl_begin(&callbacks), .maps = maps, .result = result};
    if (naming->dwfl != NULL)
        report_modules(naming, objects);
}

static void end(struct naming *naming)
{
    dwfl_end(naming->dwfl);
}

/* -- the dead -------------------------------------------------------------------------------------------------------
 */

void backtrace_of_dead(struct span maps, const struct backtrace_objects *objects, const uintptr_t *addresses,
                       size_t count, struct backtrace *result)
{
    struct naming naming;
    begin(&naming, maps, objects, result);
    for (size_t i = 0; i < count && !result->cut; i++)
        add_frame(&naming, addresses[i], i == 0);
    end(&naming);
}

size_t backtrace_begin(const uintptr_t *addresses, size_t count, uintptr_t pc)
{
    for (size_t i = 0; i < count; i++)
        if (addresses[i] == pc)
            return i;
    return 0;
}

/* -- the living -----------------------------------------------------------------------------------------------------
 */

/* libdwfl asks for threads, registers and memory through these; all come from the copy. */
static pid_t next_thread(Dwfl *dwfl, void *copy, void **thread)
{
    bool first = *thread == NULL;
    *thread = copy;
    return first ? dwfl_pid(dwfl) : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t number, void *copy, void **thread)
{
    (void)dwfl, (void)number;
    *thread = copy;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *of)
{
    const struct thread_copy *copy = of;
    return dwfl_thread_state_registers(thread, 0, THREAD_COPY_REGISTERS, copy->registers);
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *of)
{
    const struct thread_copy *copy = of;
    Dwarf_Addr at = address - copy->registers[THREAD_COPY_SP];
    (void)dwfl;
    if (at >= copy->stack_bytes || copy->stack_bytes - at < sizeof *word)
        return false;
    memcpy(word, copy->stack + at, sizeof *word);
    return true;
}

static int add_unwound(Dwfl_Frame *frame, void *of)
{
    const struct naming *naming = of;
    Dwarf_Addr pc;
    bool exact;
    if (!dwfl_frame_pc(frame, &pc, &exact))
        return DWARF_CB_ABORT;
    add_frame(naming, pc, exact);
    return naming->result->cut ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static void unwind(struct naming *naming, pid_t process, pid_t thread, struct thread_copy *copy)
{
    static const Dwfl_Thread_Callbacks callbacks = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
    };
    if (naming->dwfl != NULL && dwfl_attach_state(naming->dwfl, NULL, process, &callbacks, copy))
        (void)dwfl_getthread_frames(naming->dwfl, thread, add_unwound, naming); /* it may well end with an error */
    if (naming->result->frames == 0)
        add_frame(naming, copy->registers[THREAD_COPY_PC], true);
}

/* The text of a process's maps, which the caller frees. Its at is NULL, with errno, when it cannot be read. */
static struct span read_maps(pid_t process)
{
    char path[64], *text = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return span_of(NULL, 0);
    ssize_t length = getdelim(&text, &room, '\0', file);
    int error = errno;
    fclose(file);
    errno = error;
    return span_of(text, length < 0 ? 0 : (size_t)length);
}

int backtrace_of_thread(pid_t process, pid_t thread, const struct backtrace_objects *objects, struct backtrace *result)
{
    struct thread_copy copy;
    struct naming naming;
    *result = (struct backtrace){0};
    if (thread_copy_init(&copy, process, thread) < 0)
        return -1;
    struct span maps = read_maps(process); /* empty when it has died since: then there are addresses at least */
    begin(&naming, maps, objects, result);
    unwind(&naming, process, thread, &copy);
    end(&naming);
    free((void *)maps.at);
    thread_copy_fini(&copy);
    return 0;
}
