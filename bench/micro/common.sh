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

need_built() { # file...
    local file
    for file in "$@"; do
        [ -e "$file" ] || fail "$file is not built: call this through make"
    done
}

begin() {
    [ "$(nproc)" -ge 2 ] || fail "this takes two CPUs: one serves, one generates"
    [ -r /proc/self/schedstat ] || fail "this kernel has no /proc/PID/schedstat, which tells the CPU time"
    need wrk wrk
    need nginx nginx
    need curl curl
    check_port
    if port_is_taken; then fail "port $port is in use: set MILLRACE_PORT to another"; fi
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

check_bytes() { # path bytes
    local got
    got=$(curl -s -f "http://127.0.0.1:$port$1" | wc -c) || fail "$1 is not answered"
    [ "$got" = "$2" ] || fail "$1 answers $got bytes instead of $2"
}

# -- measuring --------------------------------------------------------------------------------------------------------

# Leaves wrk's report in $work/NAME.out.
start_wrk() { # name path connections seconds
    start "$1" 1 wrk -t1 "-c$3" "-d$4" --latency "http://127.0.0.1:$port$2"
}

# Answers that are no 200 void the run.
wait_for_wrk() { # name
    wait_for_end "$1" || fail "wrk failed: $(tail -n 1 "$work/$1.out")"
    ! grep -E 'Non-2xx|Socket errors' "$work/$1.out" >"$work/errors" || fail "$1: $(cat "$work/errors")"
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
    echo "$(date -u +%F), $(nproc) CPUs, kernel $(uname -r), ${model:-unknown CPU}, $rounds rounds of $seconds s"
}

show_round() { # round
    printf '\rround %d of %d' "$1" "$rounds" >&2
    [ "$1" != "$rounds" ] || printf '\r%*s\r' 24 '' >&2
}

# One line of numbers from standard input: their median, [first and third quartile], lowest and highest.
print_spread() { # label [what it must be]
    sort -g | awk -v label="$1" -v target="${2:+  ($2)}" '
        function quantile(p,    at, below) {
            at = 1 + p * (NR - 1)
            below = int(at)
            return below == NR ? v[NR] : v[below] + (at - below) * (v[below + 1] - v[below])
        }
        { v[NR] = $1 }
        END {
            printf "%-54s %8.3f  [%.3f, %.3f]  %.3f to %.3f%s\n", label, quantile(0.5), quantile(0.25), quantile(0.75),
                v[1], v[NR], target
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
