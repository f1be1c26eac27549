/* fingerprint.c: what a result depends on besides what was measured; see fingerprint.h. */
#include "observe/fingerprint.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/check.h"
#include "observe/digest.h"
#include "observe/layout.h"
#include "words.h"

#define LINE_BYTES 4096

/* Every program that is measured or measures. */
#define PACKAGES                                                                                                       \
    "nginx postgresql-15 libpq5 libfcgi0ldbl libconfuse2 libc6 gcc apache2-utils httperf gnuplot-nox libxxhash0 "      \
    "libjansson4 "                                                                                                     \
    "libssl3 fortunes-min apache2 libapache2-mod-perl2 php8.2-fpm"

/* -- small files and the output of programs
 * ----------------------------------------------------------------------------- */

static json_t *line_of(FILE *file)
{
    char line[LINE_BYTES];
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        return json_null();
    line[strcspn(line, "\n")] = '\0';
    for (char *c = line; *c != '\0'; c++)
        if (*c == '\t')
            *c = ' ';
    json_t *text = json_string(line);
    return text != NULL ? text : json_null();
}

static json_t *line_of_file(const char *path)
{
    FILE *file = fopen(path, "re");
    json_t *line = line_of(file);
    if (file != NULL)
        fclose(file);
    return line;
}

static json_t *line_of_program(const char *command)
{
    FILE *file = popen(command, "re");
    json_t *line = line_of(file);
    if (file != NULL)
        pclose(file);
    return line;
}

static void take_file(json_t *to, const char *name, const char *path)
{
    json_object_set_new(to, name, line_of_file(path));
}

/* The text behind the colon in the first line that begins with the name. */
static json_t *field_of_file(const char *path, const char *name)
{
    char line[LINE_BYTES];
    json_t *found = json_null();
    FILE *file = fopen(path, "re");
    while (file != NULL && json_is_null(found) && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) != 0 || colon == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        found = json_string(colon + 1 + strspn(colon + 1, " \t"));
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* -- the comparable part
 * ---------------------------------------------------------------------------------------------------- */

static void take_machine(json_t *to)
{
    struct utsname name;
    cpu_set_t mask;
    CHECK(uname(&name) == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0);
    char *cpus = layout_text(&mask);
    json_object_set_new(to, "kernel", json_string(name.release));
    json_object_set_new(to, "architecture", json_string(name.machine));
    json_object_set_new(to, "cpu", field_of_file("/proc/cpuinfo", "model name"));
    json_object_set_new(to, "cpus_online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(to, "cpus_usable", json_string(cpus));
    json_object_set_new(to, "memory", field_of_file("/proc/meminfo", "MemTotal"));
    take_file(to, "clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    take_file(to, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    take_file(to, "hypervisor", "/sys/class/dmi/id/sys_vendor");
    free(cpus);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void take_mitigations(json_t *to)
{
    static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
    struct dirent **entries;
    json_t *all = json_object();
    int count = scandir(folder, &entries, not_hidden, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = words("%s/%s", folder, entries[i]->d_name);
        take_file(all, entries[i]->d_name, path);
        free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    json_object_set_new(to, "mitigations", all);
}

static void take_limits(json_t *to)
{
    struct rlimit files;
    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
    json_t *limits = json_pack("{s:I}", "open_files", (json_int_t)files.rlim_max);
    take_file(limits, "somaxconn", "/proc/sys/net/core/somaxconn");
    take_file(limits, "port_range", "/proc/sys/net/ipv4/ip_local_port_range");
    take_file(limits, "tcp_max_tw_buckets", "/proc/sys/net/ipv4/tcp_max_tw_buckets");
    take_file(limits, "tcp_tw_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse");
    take_file(limits, "tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem");
    take_file(limits, "tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem");
    take_file(limits, "tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control");
    json_object_set_new(to, "limits", limits);
}

static void take_packages(json_t *to)
{
    char line[LINE_BYTES], name[128], version[128];
    json_t *packages = json_object();
    FILE *file = popen("dpkg-query -W -f '${Package} ${Version}\\n' " PACKAGES " 2>/dev/null", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%127s %127s", name, version) == 2)
            json_object_set_new(packages, name, json_string(version));
    if (file != NULL)
        pclose(file);
    json_object_set_new(to, "packages", packages);
}

static void take_compiler(json_t *to, const char *build)
{
    char *path = words("%s/flags", build);
    json_object_set_new(to, "compiler", line_of_program("gcc --version 2>/dev/null"));
    take_file(to, "flags", path);
    free(path);
}

/* -- what was built
 * ------------------------------------------------------------------------------------------------------------ */

static void take_hash(json_t *to, const char *name, const char *path)
{
    char digest[DIGEST_BYTES];
    json_object_set_new(to, name, digest_of_file(digest, path, NULL) == 0 ? json_string(digest) : json_null());
}

static void take_hashes(json_t *to, const char *folder, const char *prefix)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, not_hidden, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = words("%s/%s", folder, entries[i]->d_name), *name = words("%s%s", prefix, entries[i]->d_name);
        if (entries[i]->d_type == DT_REG)
            take_hash(to, name, path);
        free(path);
        free(name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static json_t *build_part(const char *build)
{
    json_t *files = json_object();
    char *server = words("%s/millrace", build), *apps = words("%s/apps", build);
    take_hash(files, "millrace", server);
    take_hash(files, "millbench", "/proc/self/exe");
    take_hashes(files, apps, "apps/");
    take_hashes(files, "/usr/share/games/fortunes", "fortunes/");
    free(server);
    free(apps);
    return json_pack("{s:o, s:o, s:o}", "commit", line_of_program("git rev-parse HEAD 2>/dev/null"), "changed",
                     line_of_program("git status --porcelain 2>/dev/null | wc -l"), "files", files);
}

json_t *fingerprint_take(const char *build)
{
    json_t *comparable = json_object();
    take_machine(comparable);
    take_mitigations(comparable);
    take_limits(comparable);
    take_packages(comparable);
    take_compiler(comparable, build);
    return json_pack("{s:o, s:o}", "comparable", comparable, "build", build_part(build));
}

/* -- comparing
 * -------------------------------------------------------------------------------------------------------------------
 */

void fingerprint_hash(const json_t *fingerprint, char hash[65])
{
    char *text =
        json_dumps(json_object_get(fingerprint, "comparable"), JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    digest_of_bytes(hash, text ? text : "", text ? strlen(text) : 0);
    free(text);
}

static char *shown(const json_t *value)
{
    if (json_is_string(value))
        return words("%s", json_string_value(value));
    char *text = value == NULL ? NULL : json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    return text != NULL ? text : words("nothing");
}

static void compare(json_t *differences, const char *above, const json_t *one, const json_t *other);

static void compare_one(json_t *differences, const char *above, const char *name, const json_t *one,
                        const json_t *other)
{
    char *path = words("%s%s%s", above, *above ? "." : "", name);
    if (json_is_object(one) && json_is_object(other)) {
        compare(differences, path, one, other);
    } else if (!json_equal(one, other)) {
        char *a = shown(one), *b = shown(other), *sentence = words("%s: %s, %s", path, a, b);
        json_array_append_new(differences, json_string(sentence));
        free(sentence);
        free(a);
        free(b);
    }
    free(path);
}

static void compare(json_t *differences, const char *above, const json_t *one, const json_t *other)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)one, name, value)
        compare_one(differences, above, name, value, json_object_get(other, name));
    json_object_foreach((json_t *)other, name, value)
    {
        if (json_object_get(one, name) == NULL)
            compare_one(differences, above, name, NULL, value);
    }
}

json_t *fingerprint_differences(const json_t *one, const json_t *other)
{
    json_t *differences = json_array();
    compare(differences, "", json_object_get(one, "comparable"), json_object_get(other, "comparable"));
    return differences;
}
