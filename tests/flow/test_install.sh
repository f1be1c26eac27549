#!/bin/bash
# make install and uninstall; the sample configuration, the spawn script and the header as they are installed.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

tree=$dir/tree # an installation whose prefix is a directory of the test
sample=$tree/share/doc/millrace/millrace.conf.sample

files_below() { # directory
    (cd "$1" && find . ! -type d | sed 's|^\./||' | sort)
}

# What is installed below a prefix; the demonstration's applications are those of apps/, without what shows requests.
expected_files() {
    local app

    for app in "$root"/apps/*.c; do
        app=$(basename "$app" .c)
        case $app in env | echo) continue ;; esac
        echo "lib/millrace/apps/$app.so"
    done
    cat <<'END'
include/millrace.h
include/millrace_pg.h
lib/millrace/environment.sh
lib/millrace/installed
lib/libmillrace_pg.a
lib/millrace/spawn
lib/pkgconfig/millrace.pc
lib/pkgconfig/millrace_pg.pc
lib/systemd/system/millrace-http.socket
lib/systemd/system/millrace-status.socket
lib/systemd/system/millrace.service
lib/systemd/system/millrace.socket
lib/tmpfiles.d/millrace.conf
sbin/millrace
sbin/millrace-spawn
share/doc/millrace/CHANGES.md
share/doc/millrace/LICENSE
share/doc/millrace/README.md
share/doc/millrace/millrace.conf.sample
share/doc/millrace/nginx/millrace.fastcgi
share/doc/millrace/nginx/millrace.params
share/doc/millrace/nginx/production.conf
share/man/man5/millrace.conf.5
share/man/man8/millrace.8
END
}

case_every_file_below_destdir_and_prefix() {
    make_target install DESTDIR="$dir/stage" PREFIX=/opt/here
    check_equal "$(expected_files | sort)" "$(files_below "$dir/stage/opt/here")"
    check_equal "$(files_below "$dir/stage/opt/here" | sed 's|^|opt/here/|')" "$(files_below "$dir/stage")" 'outside the prefix'
    check_equal '' "$(grep -rlF -e "$dir" -e '@PREFIX@' -e /usr/local "$dir/stage/opt/here"/{lib/pkgconfig,lib/systemd} || true)" \
        'files with another prefix'
    check_match '/opt/here/lib/millrace/apps/hello\.so' "$(cat "$dir/stage/opt/here/share/doc/millrace/millrace.conf.sample")"
    check_equal '' "$(find "$dir/stage" ! -type l -perm /022)" 'what others can write'
    [ -x "$(readlink -e "$dir/stage/opt/here/sbin/millrace-spawn")" ] || fail 'millrace-spawn leads nowhere'
}

case_uninstall_leaves_nothing() {
    make_target uninstall DESTDIR="$dir/stage" PREFIX=/opt/here
    check_equal '' "$(files_below "$dir/stage")" 'files'
    check_equal '' "$(find "$dir/stage" -name '*millrace*')" 'directories'
    if make_target uninstall DESTDIR="$dir/stage" PREFIX=/opt/here 2>"$dir/err"; then fail 'a second uninstall finds something'; fi
    check_match 'nothing is installed' "$(cat "$dir/err")"
}

# An application of an earlier version goes, one that somebody has put there stays.
case_uninstall_knows_what_was_installed() {
    local apps=$dir/stage/lib/millrace/apps

    make_target install DESTDIR="$dir/stage" PREFIX=
    touch "$apps/gone.so" "$apps/mine.so"
    echo lib/millrace/apps/gone.so >>"$dir/stage/lib/millrace/installed"
    make_target install DESTDIR="$dir/stage" PREFIX=
    make_target uninstall DESTDIR="$dir/stage" PREFIX=
    check_equal lib/millrace/apps/mine.so "$(files_below "$dir/stage")"
}

case_the_sample_is_valid_as_it_is() {
    make_target install PREFIX="$tree"
    "$tree/sbin/millrace" -n -c "$sample"
}

# Where it names directories that only an administrator makes, the test has its own.
own_sample() {
    mkdir -p "$dir/places"
    sed -e "s|/var/log/millrace|$dir/places|" -e "s|/run/millrace|$dir/places|" "$sample"
}

case_the_sample_is_valid_with_any_line_uncommented() {
    local line count=0

    while read -r line; do
        own_sample | sed "${line}s/#//" >"$dir/any.conf"
        "$tree/sbin/millrace" -n -c "$dir/any.conf" || fail "line $line: $(sed -n "${line}p" "$dir/any.conf")"
        count=$((count + 1))
    done < <(grep -nE '^ *#[a-z]' "$sample" | cut -d: -f1)
    [ "$count" -ge 30 ] || fail "only $count lines can be uncommented"
    own_sample | sed -E 's/^( *)#([a-z])/\1\2/' >"$dir/all.conf"
    "$tree/sbin/millrace" -n -c "$dir/all.conf"
}

case_the_sample_shows_every_option_with_its_unit() {
    local name type unit count=0

    while read -r name type _; do
        case $type in
        seconds | ms | octal) unit=" \\($type\\)" ;;
        bytes) unit=' \(bytes; K, M, G\)' ;;
        *) unit='' ;;
        esac
        check_match "# [^"$'\n'"]+$unit"$'\n'" *#?$name = ." "$(cat "$sample")" "$name"
        count=$((count + 1))
    done < <("$tree/sbin/millrace" -h | sed -n 's/^  \([a-z_]\{3,\}\) /\1/p')
    [ "$count" -ge 30 ] || fail "millrace -h shows only $count options"
}

case_an_application_is_compiled_with_what_is_installed() {
    local flags

    flags=$(PKG_CONFIG_PATH=$tree/lib/pkgconfig pkg-config --cflags millrace)
    check_equal "$tree/lib/millrace/apps" "$(PKG_CONFIG_PATH=$tree/lib/pkgconfig pkg-config --variable=appsdir millrace)"
    # shellcheck disable=SC2016 # the marks of a code block
    sed -n '/^#include <millrace.h>/,/^```/{/^```/d;p}' "$root/README.md" >"$dir/greeting.c"
    check_match 'struct mr_app mr_app' "$(cat "$dir/greeting.c")"
    # shellcheck disable=SC2086 # several words
    gcc -Wall -Werror -fPIC -shared $flags "$dir/greeting.c" -o "$dir/greeting.so"
    echo "app \"/greeting\" { file = \"$dir/greeting.so\" }" >"$dir/greeting.conf"
    case $BUILD in */asan | */tsan) return 0 ;; esac # which want every object to be made for them
    "$tree/sbin/millrace" -n -c "$dir/greeting.conf"
}

# One that uses the database: with names of its own that the library has inside as well.
case_an_application_is_linked_with_the_database_library() {
    local flags

    flags=$(PKG_CONFIG_PATH=$tree/lib/pkgconfig pkg-config --cflags --libs millrace_pg)
    cat >"$dir/pages.c" <<'END'
#include <millrace_pg.h>

int pool_new, session_free, report_write, hosts_read;
static const struct pg_statement statements[] = {{.sql = "SELECT 1", .read_only = true}};

static int start(struct mr_route *route)
{
    return pg_start(route, statements, 1);
}

static int pages(FCGX_Request *req)
{
    PGconn *pg = pg_connection(req);
    PGresult *rows = pg == NULL ? NULL : pg_execute(req, pg, &statements[0], 0, NULL);
    PQclear(rows);
    return pg_unavailable(req, NULL);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "pages", .handle = pages, .start = start, .stop = pg_stop};
END
    # shellcheck disable=SC2086 # several words
    gcc -Wall -Werror -fPIC -shared "$dir/pages.c" $flags -o "$dir/pages.so"
    check_equal '' "$(nm -D --defined-only "$dir/pages.so" | grep -oE '\bpg_[a-z_]*' || true)" 'names that the application exports'
    echo "app \"/pages\" { file = \"$dir/pages.so\" options { conninfo = \"dbname=none\" } }" >"$dir/pages.conf"
    case $BUILD in */asan | */tsan) return 0 ;; esac # which want every object to be made for them
    "$tree/sbin/millrace" -n -c "$dir/pages.conf"
}

case_the_installed_spawn_script() {
    local place

    place=$(dirname "$(runtime_conf spawned <<'END'
fastcgi = { "unix:@DIR@/m.sock" }
threads = 4
app "/hello" { file = "@APPS@/hello.so" }
END
    )")
    spawn() { # command
        "$tree/sbin/millrace-spawn" "$1" -c "$place/millrace.conf" -s "$place/m.sock" -p "$place/pid" -l "$place/log" >"$dir/out" 2>&1
    }
    at_end "'$tree/sbin/millrace-spawn' stop -p '$place/pid' -s '$place/m.sock'"
    spawn start
    check_equal "$(realpath "$tree/sbin/millrace")" "$(readlink "/proc/$(cat "$place/pid")/exe")" 'the program'
    spawn reload
    check_match 'generation 2 serves' "$(cat "$dir/out")"
    make_target install PREFIX="$tree" # over the program that runs
    spawn upgrade
    check_match 'generation 3 serves' "$(cat "$dir/out")"
    check_equal "$(realpath "$tree/sbin/millrace")" "$(readlink "/proc/$(cat "$place/pid")/exe")" 'the program after the upgrade'
    spawn status
    spawn stop
    check_gone "$place/pid" "$place/pid.reload" "$place/m.sock"
    wait_until no_process_of "$place"
}

case_the_installed_spawn_script_says_its_name_and_defaults() {
    check_match 'millrace-spawn.*/etc/millrace/millrace\.conf' "$("$tree/sbin/millrace-spawn" -h | tr '\n' ' ')"
    if "$tree/sbin/millrace-spawn" sideways 2>"$dir/err"; then fail 'it took an unknown command'; fi
    check_match '^millrace-spawn: usage: millrace-spawn ' "$(cat "$dir/err")"
    if "$tree/sbin/millrace-spawn" start -c "$dir/absent.conf" -s "$dir/m.sock" -p "$dir/pid" -l "$dir/log" 2>"$dir/err"; then
        fail 'it started without a configuration'
    fi
    check_match 'absent\.conf' "$(cat "$dir/err")"
}

case_the_installation_with_its_own_prefix_is_uninstalled() {
    make_target uninstall PREFIX="$tree"
    check_equal '' "$(files_below "$tree")"
}

cases_run "$@"
