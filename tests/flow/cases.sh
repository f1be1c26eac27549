# shellcheck shell=bash
# What the flow tests in bash share: cases, checks, and servers of their own. A test sources this file, defines
# functions named case_..., and ends with `cases_run "$@"`:
#
#     source "$(dirname "$0")/cases.sh"
#     stack_up                      # before the cases: what all of them need; ends by itself with the program
#     case_hello_has_450_bytes() { check_equal 450 "$(fetch /hello | wc -c)"; }
#     cases_run "$@"
#
# Each case runs in a subshell with errexit: the first command that fails ends it, and its line and text become the
# reason in `not ok - title: hello has 450 bytes: ...`. Arguments of the program name the cases to run.
set -euo pipefail
export LC_ALL=C
PATH=$PATH:/usr/sbin # where nginx is, and not in the path of every user

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
title=$(basename "$0" .sh)
title=${title#test_}
BUILD=$(realpath -m "${BUILD:-$root/build}")
export BUILD
cases_failures=0
cases_wait_ms=${MILLRACE_TEST_WAIT_MS:-10000} # how long wait_until waits

if [ -z "${MILLRACE_TEST_DIR:-}" ]; then # run by hand, without tests/run
    cases_own_dir=$(mktemp -d /tmp/millrace-test.XXXXXX)
    chmod 755 "$cases_own_dir"
    MILLRACE_TEST_DIR=$cases_own_dir
fi
dir=$MILLRACE_TEST_DIR
cases_notes=$dir/.cases
mkdir -p "$cases_notes"
: >"$cases_notes/at-end"

# -- Cases -------------------------------------------------------------------------------------------------------

# Ends the case as failed, or as skipped.
fail() {
    printf '%s' "$*" | tr '\n' ' ' >"$cases_notes/why"
    trap - ERR
    exit 1
}
skip() {
    printf '%s' "$*" >"$cases_notes/skip"
    exit 0
}

check_equal() { # expected seen [what]
    [ "$1" = "$2" ] || fail "${3:+$3: }expected '$1', seen '${2:0:300}'"
}
check_match() { # extended-regular-expression text [what]
    [[ $2 =~ $1 ]] || fail "${3:+$3: }expected something like '$1', seen '${2:0:300}'"
}
check_same_bytes() { # file file [what]
    cmp -s "$1" "$2" || fail "${3:+$3: }$(cmp "$1" "$2" 2>&1 || true)"
}
check_gone() { # path...
    local path

    for path in "$@"; do
        if [ -e "$path" ] || [ -L "$path" ]; then fail "$path is still there"; fi
    done
}

# Waits until a command succeeds; the case fails when it does not in time.
wait_until() { # command...
    local end=$(($(now_ms) + cases_wait_ms))

    until "$@" >/dev/null 2>&1; do
        [ "$(now_ms)" -lt "$end" ] || fail "waited $cases_wait_ms ms in vain for: $*"
        sleep 0.02
    done
}
now_ms() {
    local time=${EPOCHREALTIME/./}

    echo $((time / 1000))
}
is_gone() { # pid: no such process, or one that only waits to be reaped
    ! [ -d "/proc/$1" ] || grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"
}

# Pids of the processes that have a directory in their arguments, as their working directory, or something in it open.
# The pattern goes through a file, or the search would find itself.
processes_of() { # directory
    echo "$1/" >"$cases_notes/pattern"
    {
        grep -lsFf "$cases_notes/pattern" /proc/[0-9]*/cmdline
        find /proc/[0-9]*/cwd /proc/[0-9]*/fd -maxdepth 1 \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null
    } | sed -n 's|^/proc/\([0-9]*\)/.*|\1|p' | sort -nu || true
}
no_process_of() { # directory
    [ -z "$(processes_of "$1")" ]
}

# Remembers a command (one string) to run when the program ends, last one first; works inside cases as well.
at_end() {
    echo "$1" >>"$cases_notes/at-end"
}
# A sanitizer's report is a failure of its own, whichever case brought it up. Crashes that a case asked for are not.
cases_check_reports() {
    grep -shE 'WARNING: ThreadSanitizer|LeakSanitizer: detected|runtime error:|ERROR: AddressSanitizer: ' \
        "$dir"/*/output "$dir"/*/*log |
        grep -vE 'AddressSanitizer: (SEGV on|FPE on|ABRT)' | sed "s/^/not ok - $title: a sanitizer's report: /"
}
cases_clean_up() {
    local line

    trap '' INT TERM
    set +e
    exec 2>>"$cases_notes/end.log" # where bash also tells which of its children were killed
    while read -r line; do
        eval "$line" </dev/null >>"$cases_notes/end.log" 2>&1
    done < <(tac "$cases_notes/at-end")
    cases_check_reports
    [ -z "${cases_own_dir:-}" ] || rm -rf "$cases_own_dir"
}
trap cases_clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints the case's line. Not to be called behind `||` or `if`: bash would switch errexit off inside the case.
cases_one() { # function
    local status name=${1#case_}

    name=${name//_/ }
    rm -f "$cases_notes/why" "$cases_notes/skip"
    set +e
    (
        trap - EXIT INT TERM
        set -eE
        trap 'cases_note "${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR
        "$1"
    ) </dev/null >"$cases_notes/output" 2>&1
    status=$?
    set -e
    if [ -e "$cases_notes/skip" ]; then
        echo "skip - $title: $name: $(cat "$cases_notes/skip")"
    elif [ "$status" = 0 ]; then
        echo "ok - $title: $name"
    else
        echo "not ok - $title: $name: $(cat "$cases_notes/why" 2>/dev/null || echo "ended with status $status")"
        sed 's/^/#   /' "$cases_notes/output" | tail -40
        cases_failures=$((cases_failures + 1))
    fi
}
cases_note() { # the innermost command that failed is the reason; the callers' traps come later
    [ -e "$cases_notes/why" ] || printf '%s' "$1" | tr '\n' ' ' >"$cases_notes/why"
}

# Runs the cases in the order of their definition; the program ends with the number of failures.
cases_run() { # [name...]
    local one
    local -a all

    mapfile -t all < <(grep -o '^case_[A-Za-z0-9_]*' "$0")
    if [ $# -gt 0 ]; then all=("${@/#/case_}") && all=("${all[@]// /_}"); fi
    for one in "${all[@]}"; do
        cases_one "$one"
    done
    exit "$((cases_failures < 100 ? cases_failures : 100))"
}

# For what all cases need: reports its failure as one, and ends the program.
cases_need() { # what command...
    local what=$1
    shift
    if ! "$@" >"$cases_notes/need.log" 2>&1; then
        echo "not ok - $title: $what: $(tail -n 1 "$cases_notes/need.log")"
        sed 's/^/#   /' "$cases_notes/need.log" | tail -40
        exit 1
    fi
}

# -- Ports and fetching --------------------------------------------------------------------------------------------

port_is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Prints a port P with P+1 and P+2 free as well, below the range that the kernel gives to clients.
free_port() {
    local port

    while :; do
        port=$((10000 + SRANDOM % 20000))
        if port_is_free "$port" && port_is_free $((port + 1)) && port_is_free $((port + 2)); then
            echo "$port"
            return
        fi
    done
}

# One request to the stack's nginx; further arguments are curl's. Fails on an answer of 400 and more, like curl -f.
fetch() { # path [curl-option...]
    local path=$1
    shift
    curl -sS -f --max-time 20 "$@" "http://127.0.0.1:$MILLRACE_PORT$path"
}
# The same from the server itself, without nginx.
fetch_direct() { # path [curl-option...]
    MILLRACE_PORT=$((MILLRACE_PORT + 1)) fetch "$@"
}
# The status code alone; 000 when there was no answer.
fetch_status() { # path [curl-option...]
    local path=$1
    shift
    curl -sS -o /dev/null -w '%{http_code}' --max-time 20 "$@" "http://127.0.0.1:$MILLRACE_PORT$path" || true
}

# -- A whole stack ---------------------------------------------------------------------------------------------------

# Starts nginx, the runtime and PostgreSQL on free ports in a private state directory, once for all cases of the
# program; sets MILLRACE_PORT and MILLRACE_STATE. Call it before cases_run.
stack_up() {
    MILLRACE_PORT=$(free_port)
    MILLRACE_STATE=$dir/stack
    export MILLRACE_PORT MILLRACE_STATE
    at_end "MILLRACE_PORT=$MILLRACE_PORT MILLRACE_STATE=$MILLRACE_STATE '$root/runtime/stack' down"
    cases_need 'the stack comes up' "$root/runtime/stack" up
}

# -- A runtime alone -----------------------------------------------------------------------------------------------

# Writes a configuration for a private runtime in $dir/NAME: standard input holds app blocks and options; @DIR@ is the
# private directory, @APPS@ the applications, @TESTAPPS@ the test applications. Prints the path.
runtime_conf() { # name
    local place=$dir/$1

    mkdir -p "$place"
    chmod 755 "$place"
    sed -e "s|@DIR@|$place|g" -e "s|@APPS@|$BUILD/apps|g" -e "s|@TESTAPPS@|$BUILD/tests/apps|g" >"$place/millrace.conf"
    echo "$place/millrace.conf"
}

# Starts the runtime on a configuration and waits until it is ready (needs pid_file = "@DIR@/pid" there).
# Sets runtime_pid. It is killed at the end of the program if it still runs then.
runtime_start() { # configuration [command-prefix...]
    local conf=$1 place
    shift
    place=$(dirname "$conf")
    "$@" "$BUILD/millrace" -c "$conf" </dev/null >"$place/output" 2>&1 &
    runtime_pid=$!
    at_end "runtime_kill $runtime_pid '$place'"
    wait_until test -s "$place/pid"
}
runtime_kill() { # pid directory: unless the number has long become another process
    ! grep -qsF -- "$2" "/proc/$1/cmdline" || kill -KILL "$1"
}
runtime_stop() { # [signal]: waits for the end; sets runtime_status
    kill "-${1:-TERM}" "$runtime_pid"
    runtime_status=0
    # shellcheck disable=SC2034 # for the caller
    wait "$runtime_pid" || runtime_status=$?
}

# -- An installation -----------------------------------------------------------------------------------------------

# `make install` or `make uninstall` of what this build holds: nothing is compiled.
make_target() { # target [VARIABLE=value...]
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory -C "$root" PACKAGES=skip BUILD="$BUILD" "$@"
}
