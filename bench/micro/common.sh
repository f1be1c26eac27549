# shellcheck shell=bash disable=SC2034 # what is set here is used by the scripts that source it
# common.sh: what the small measurements share: a private folder, servers that end with the script, nginx before them,
# wrk, and statistics. Sourced from the repository's root, never run.
#
# Everything that serves runs on CPU 0, the generators run on CPU 1, so that every server has exactly one core.
#
# Sets: work (a private folder), pid (what was started, by name). Takes: rounds, seconds, stubborn (the names of what a
# SIGTERM may not end).

# shellcheck source=runtime/environment.sh
source runtime/environment.sh
export LC_ALL=C
PATH=$PATH:/usr/sbin

work=
declare -A pid=()
stubborn=()

# -- beginning and end ------------------------------------------------------------------------------------------------

need() { # command package
    command -v "$1" >/dev/null || fail "$1 is not installed: apt-get install $2"
}

check_ports() { # how many, beginning with nginx's
    local last=$((port + $1 - 1))
    check_port
    local port
    for ((port = last - $1 + 1; port <= last; port++)); do
        ! port_is_taken || fail "port $port is in use: set MILLRACE_PORT to another"
    done
}

# Descriptors enough for that many connections of one process, and what it has open besides.
allow_connections() { # count
    local spare=256
    ulimit -n "$(ulimit -H -n)"
    [ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge $(($1 + spare)) ] ||
        fail "$1 connections take $(($1 + spare)) descriptors a process, and the hard limit\
 (ulimit -H -n) is $(ulimit -n): raise it, or open fewer"
}

need_built() { # file...
    local file
    for file in "$@"; do
        [ -e "$file" ] || fail "$file is not built: call this through make"
    done
}

begin() { # how many ports
    [ "$(nproc)" -ge 2 ] || fail "this takes two CPUs: one serves, one generates"
    [ -r /proc/self/schedstat ] || fail "this kernel has no /proc/PID/schedstat, which tells the CPU time"
    need wrk wrk
    need nginx nginx
    need curl curl
    check_ports "$1"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    work=$(mktemp -d /tmp/millrace-bench.XXXXXX)
    chmod 755 "$work"
}

clean_up() {
    local name running
    trap '' INT TERM
    {   # bash tells of killed children here
        mapfile -t running < <(jobs -p)
        [ ${#running[@]} = 0 ] || kill "${running[@]}" || true
        for name in "${stubborn[@]}"; do [ -z "${pid[$name]:-}" ] || kill -KILL "${pid[$name]}" || true; done
        wait || true
    } 2>/dev/null
    [ -z "$work" ] || rm -rf "$work"
}

start() { # name cpu command...: its pid in pid[name], what it prints in $work/NAME.out
    local name=$1 cpu=$2
    shift 2
    taskset -c "$cpu" "$@" </dev/null >"$work/$name.out" 2>&1 &
    pid[$name]=$!
}

# For what ends by itself, or has been told to. Returns its exit status.
wait_for_end() { # name
    local ended=${pid[$1]}
    unset "pid[$1]" # the number may be used again
    wait "$ended"
}

wait_for() { # file
    local tries=200
    until [ -e "$1" ]; do
        [ $((tries -= 1)) -gt 0 ] || fail "$1 does not appear: $(cat "$work"/*.out | tail -n 1)"
        sleep 0.05
    done
}

# -- servers ----------------------------------------------------------------------------------------------------------

# The runtime as it is measured: one worker, one lane, the default 32 threads, on $work/ours.sock.
start_ours() { # line of the configuration...
    {
        printf 'fastcgi = { "unix:%s/ours.sock" }\nsocket_mode = "0666"\nworkers = 1\nlanes = 1\nthreads = 32\n' "$work"
        [ "$(id -u)" != 0 ] || echo 'user = "root"'
        echo "pid_file = \"$work/ours.ready\""
        printf '%s\n' "$@"
    } >"$work/millrace.conf"
    start ours 0 "$build/millrace" -c "$work/millrace.conf"
    wait_for "$work/ours.ready"
}

app() { # path file: a line for start_ours
    need_built "$build/$2"
    echo "app \"$1\" { file = \"$build/$2\" }"
}

worker_of_ours() {
    local workers
    read -ra workers <"/proc/${pid[ours]}/task/${pid[ours]}/children"
    [ ${#workers[@]} = 1 ] || fail "the server has ${#workers[@]} workers instead of 1"
    echo "${workers[0]}"
}

location() { # path upstream keep
    echo "location = $1 { include $root/nginx-conf/millrace.params; fastcgi_keep_conn $3; fastcgi_pass $2; }"
}

# nginx with kept connections to $work/NAME.sock for each upstream. Reads its locations from standard input, which is no
# pipe: a pipe's end is a subshell, whose pid[nginx] would be lost.
start_front() { # upstream...
    local name
    {
        [ "$(id -u)" != 0 ] || echo 'user root;'
        echo "worker_processes 1; daemon off; pid $work/nginx.pid; error_log $work/nginx.log;"
        echo "events { worker_connections 1024; } http { access_log off; keepalive_requests 1000000;"
        for name in client_body fastcgi proxy uwsgi scgi; do echo "${name}_temp_path $work/$name;"; done
        echo "fastcgi_buffer_size 16k; fastcgi_buffers 16 16k;"
        for name in "$@"; do
            echo "upstream $name { server unix:$work/$name.sock; keepalive 64; keepalive_requests 1000000; }"
            echo "upstream ${name}_once { server unix:$work/$name.sock; }"
        done
        echo "server { listen 127.0.0.1:$port backlog=4096;"
        cat
        echo "} }"
    } >"$work/nginx.conf"
    start nginx 0 nginx -e "$work/nginx.log" -c "$work/nginx.conf"
    wait_for "$work/nginx.pid"
}

# -- connections that rest --------------------------------------------------------------------------------------------

open_files() { # pid
    local files=("/proc/$1/fd/"*)
    echo ${#files[@]}
}

# Adds the seconds that it took to $work/opening.
open_connections() { # place count
    local ready='' begun=$EPOCHREALTIME
    # Its standard input is a pipe of this script: however the script ends, the connections do as well.
    coproc opener { exec taskset -c 1 "$build/micro/idle_connections" "$@" 2>"$work/opener.out"; }
    # shellcheck disable=SC2154 # coproc sets it
    pid[opener]=$opener_PID
    read -r -t 120 -u "${opener[0]}" ready || true
    [ "$ready" = ready ] || fail "the connections do not open: $(tail -n 1 "$work/opener.out")"
    awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }' >>"$work/opening"
}

# The server had that many files open before it got the connections. nginx may have opened or closed some of its own
# meanwhile, at most the 64 that it keeps.
close_connections() { # server's pid, files before, count
    [ "$(open_files "$1")" -ge $(($2 + $3 - 64)) ] || fail "the server did not keep the connections"
    kill "${pid[opener]}"
    wait_for_end opener 2>/dev/null || true
    wait_for_files "$1" $(($2 + 64))
}

wait_for_files() { # pid, how many at most
    local tries=400
    while [ "$(open_files "$1")" -gt "$2" ]; do
        [ $((tries -= 1)) -gt 0 ] || fail "the server does not close its connections"
        sleep 0.05
    done
}

# -- measuring --------------------------------------------------------------------------------------------------------

address() { # path on nginx, or :PORT/PATH
    case $1 in
    :*) echo "http://127.0.0.1$1" ;;
    *) echo "http://127.0.0.1:$port$1" ;;
    esac
}

check_bytes() { # path bytes
    local got
    got=$(curl -s -f "$(address "$1")" | wc -c) || fail "$1 is not answered"
    [ "$got" = "$2" ] || fail "$1 answers $got bytes instead of $2"
}

# Of processes and their children, by the scheduler's nanoseconds.
cpu_ns() { # pid...
    local parent one files=()
    for parent in "$@"; do
        for one in "$parent" $(cat "/proc/$parent/task/$parent/children"); do
            files+=("/proc/$one/task/"*/schedstat)
        done
    done
    awk '{ sum += $1 } END { printf "%.0f\n", sum }' "${files[@]}"
}

# Leaves wrk's report in $work/NAME.out.
start_wrk() { # name path connections seconds
    start "$1" 1 wrk -t1 "-c$3" "-d$4" --latency "$(address "$2")"
}

# Answers that are no 200 void the run. Returns 1 then.
wrk_is_right() { # name
    ! grep -E 'Non-2xx|Socket errors' "$work/$1.out" >"$work/errors"
}

wait_for_wrk() { # name
    wait_for_end "$1" || fail "wrk failed: $(tail -n 1 "$work/$1.out")"
    wrk_is_right "$1" || fail "$1: $(cat "$work/errors")"
}

run_wrk() { # name path connections seconds
    start_wrk "$@"
    wait_for_wrk "$1"
}

requests_per_second() { # name
    awk '/^Requests\/sec/ { print $2 }' "$work/$1.out"
}

# -- results ----------------------------------------------------------------------------------------------------------

print_machine() {
    local model
    model=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | sort -u)
    # shellcheck disable=SC2154 # set by the script that sources this
    echo "$(date -u +%F), $(nproc --all) CPUs, kernel $(uname -r), ${model:-unknown CPU}, $rounds rounds of $seconds s"
}

show_round() { # round
    printf '\rround %d of %d' "$1" "$rounds" >&2
    [ "$1" != "$rounds" ] || printf '\r%*s\r' 24 '' >&2
}

# One line of numbers from standard input: their median, [first and third quartile], lowest and highest, and whether the
# median is what it must be, where that begins with "at least" or "at most" and a number.
print_spread() { # label [what it must be]
    sort -g | awk -v label="$1" -v must="${2:-}" '
        function quantile(p,    at, below) {
            at = 1 + p * (NR - 1)
            below = int(at)
            return below == NR ? v[NR] : v[below] + (at - below) * (v[below + 1] - v[below])
        }
        function judged(median,    word) {
            if (must == "") return ""
            split(must, word, " ")
            if (word[1] != "at") return "  (" must ")"
            if (word[2] == "least" ? median >= word[3] : median <= word[3]) return "  (" must ": reached)"
            return "  (" must ": not reached)"
        }
        { v[NR] = $1 }
        END {
            if (NR == 0) {
                printf "%-54s not measured\n", label
                exit
            }
            printf "%-54s %8.3f  [%.3f, %.3f]  %.3f to %.3f%s\n", label, quantile(0.5), quantile(0.25), quantile(0.75),
                v[1], v[NR], judged(quantile(0.5))
        }'
}

# The rounds' ratios of two cells, from lines "round cell figure..." in $work/cells.
ratios() { # numerator denominator column
    awk -v a="$1" -v b="$2" -v column="$3" '$2 == a { x[$1] = $column } $2 == b { y[$1] = $column }
        END { for (r in x) print x[r] / y[r] }' "$work/cells"
}

# One column of a cell's rounds.
figures() { # cell column
    awk -v cell="$1" -v column="$2" '$2 == cell { print $column }' "$work/cells"
}
