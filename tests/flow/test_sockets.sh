#!/bin/bash
# The runtime's listening sockets: files of unix sockets, stale and live ones, addresses, inherited descriptors.
# Cases C31, C32, C33, C36.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

conf() { # name [more lines]: a server on @DIR@/m.sock
    runtime_conf "$1" <<END
fastcgi = { "unix:@DIR@/m.sock" }
pid_file = "@DIR@/pid"
workers = 1
lanes = 1
threads = 4
${2:-}
app "/hello" { file = "@APPS@/hello.so" }
END
}

# One FastCGI request by libfcgi's own client program, which is not ours: another opinion. Prints the answer.
ask() { # address (a path or host:port)
    REQUEST_METHOD=GET SCRIPT_NAME=/hello REQUEST_URI=/hello QUERY_STRING='' SERVER_PROTOCOL=HTTP/1.1 \
        timeout 10 cgi-fcgi -bind -connect "$1"
}
check_hello() { # address
    check_match 'Hello, World' "$(ask "$1")"
}

case_mode_whatever_the_umask() {
    local path mask

    for mask in 000 022 077; do
        path=$(conf "mask-$mask")
        umask "$mask"
        runtime_start "$path"
        umask 022
        check_equal 660 "$(stat -c %a "$dir/mask-$mask/m.sock")" "umask $mask"
        runtime_stop
        check_equal 0 "$runtime_status" 'exit status'
        check_gone "$dir/mask-$mask/m.sock" "$dir/mask-$mask/pid"
    done
    path=$(conf mode 'socket_mode = "0600"')
    runtime_start "$path"
    check_equal 600 "$(stat -c %a "$dir/mode/m.sock")"
    runtime_stop
}

case_owner_and_group() {
    [ "$(id -u)" = 0 ] || skip 'needs root to give a socket away'
    runtime_start "$(conf owner $'socket_owner = "www-data"\nsocket_group = "daemon"')"
    check_equal www-data:daemon "$(stat -c %U:%G "$dir/owner/m.sock")"
    runtime_stop
}

case_kill_9_then_start_again() {
    local path

    path=$(conf stale)
    runtime_start "$path"
    check_hello "$dir/stale/m.sock"
    runtime_stop KILL
    [ -S "$dir/stale/m.sock" ] || fail 'no stale socket to try with'
    wait_until no_process_of "$dir/stale"
    rm -f "$dir/stale/pid"
    runtime_start "$path"
    check_hello "$dir/stale/m.sock"
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
}

case_second_start_is_refused() {
    local path other inode status=0

    path=$(conf first)
    runtime_start "$path"
    inode=$(stat -c %i "$dir/first/m.sock")
    other=$(runtime_conf second <<END
fastcgi = { "unix:$dir/first/m.sock" }
pid_file = "@DIR@/pid"
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    timeout 15 "$BUILD/millrace" -c "$other" </dev/null >/dev/null 2>"$dir/err" || status=$?
    check_equal 1 "$status" 'exit status of the second'
    check_equal 1 "$(wc -l <"$dir/err")" 'lines on standard error'
    check_match 'm\.sock' "$(cat "$dir/err")"
    check_equal "$inode" "$(stat -c %i "$dir/first/m.sock")" 'inode'
    check_hello "$dir/first/m.sock"
    runtime_stop
}

case_files_and_directories_are_not_replaced() {
    local kind path status

    for kind in file directory link fifo; do
        path=$(conf "not-a-socket-$kind")
        case $kind in
        file) echo precious >"$dir/not-a-socket-$kind/m.sock" ;;
        directory) mkdir "$dir/not-a-socket-$kind/m.sock" ;;
        link) echo precious >"$dir/target" && ln -s "$dir/target" "$dir/not-a-socket-$kind/m.sock" ;;
        fifo) mkfifo "$dir/not-a-socket-$kind/m.sock" ;;
        esac
        status=0
        timeout 15 "$BUILD/millrace" -c "$path" </dev/null >/dev/null 2>"$dir/err" || status=$?
        check_equal 1 "$status" "exit status for a $kind"
        check_equal 1 "$(wc -l <"$dir/err")" "lines on standard error for a $kind"
        check_match 'm\.sock' "$(cat "$dir/err")"
        [ -e "$dir/not-a-socket-$kind/m.sock" ] || fail "the $kind was removed"
        check_gone "$dir/not-a-socket-$kind/pid"
    done
    check_equal precious "$(cat "$dir/not-a-socket-file/m.sock")"
    check_equal precious "$(cat "$dir/target")"
}

case_only_the_own_socket_is_removed_at_the_end() {
    local path

    path=$(conf own)
    runtime_start "$path"
    rm "$dir/own/m.sock"
    echo 'somebody else'\''s' >"$dir/own/m.sock"
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
    [ -e "$dir/own/m.sock" ] || fail "somebody else's file was removed"
}

case_tcp_port_again_at_once() {
    local path port round

    port=$(free_port)
    path=$(runtime_conf tcp <<END
fastcgi = { "127.0.0.1:$port" }
pid_file = "@DIR@/pid"
workers = 1
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    for round in 1 2 3; do
        runtime_start "$path"
        check_hello "127.0.0.1:$port"
        check_equal "127.0.0.1:$port" "$(ss -Hltn "sport = :$port" | awk '{print $4}')" "listening in round $round"
        runtime_stop
    done
}

case_ipv6() {
    local port

    port=$(free_port)
    grep -q . /proc/net/if_inet6 2>/dev/null || skip 'this machine has no IPv6'
    runtime_start "$(runtime_conf six <<END
fastcgi = { "[::1]:$port" }
pid_file = "@DIR@/pid"
workers = 1
app "/hello" { file = "@APPS@/hello.so" }
END
    )"
    check_equal "[::1]:$port" "$(ss -Hltn "sport = :$port" | awk '{print $4}')" 'listening'
    runtime_stop
}

case_several_addresses() {
    local port

    port=$(free_port)
    runtime_start "$(runtime_conf several <<END
fastcgi = { "unix:@DIR@/a.sock", "127.0.0.1:$port", "unix:@DIR@/b.sock" }
pid_file = "@DIR@/pid"
app "/hello" { file = "@APPS@/hello.so" }
END
    )"
    check_hello "$dir/several/a.sock"
    check_hello "$dir/several/b.sock"
    check_hello "127.0.0.1:$port"
    runtime_stop
    check_gone "$dir/several/a.sock" "$dir/several/b.sock"
}

# The FastCGI convention: descriptor 0 is the listening socket, and the configuration's addresses are not used.
case_descriptor_0() {
    local path pid

    path=$(conf zero)
    spawn-fcgi -s "$dir/zero/inherited.sock" -P "$dir/zero/spawned" -- "$BUILD/millrace" -c "$path" >/dev/null
    pid=$(cat "$dir/zero/spawned")
    at_end "runtime_kill $pid '$dir/zero'"
    wait_until test -s "$dir/zero/pid"
    check_equal "$pid" "$(cat "$dir/zero/pid")" 'pid'
    check_hello "$dir/zero/inherited.sock"
    check_gone "$dir/zero/m.sock"
    kill -TERM "$pid"
    wait_until is_gone "$pid"
}

case_systemd_sockets() {
    local path

    path=$(conf systemd)
    command -v python3 >/dev/null || skip 'needs python3 to pass sockets like systemd'
    runtime_start "$path" python3 -c '
import os, socket, sys
one = socket.socket(socket.AF_UNIX)
one.bind(sys.argv[1]); one.listen(64)
os.dup2(one.fileno(), 3); os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="fastcgi")
os.execv(sys.argv[2], sys.argv[2:])' "$dir/systemd/inherited.sock"
    check_hello "$dir/systemd/inherited.sock"
    check_gone "$dir/systemd/m.sock"
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
}

# LISTEN_PID of another process: the variables are not for us.
case_systemd_variables_of_somebody_else() {
    local path

    path=$(conf foreign)
    runtime_start "$path" env LISTEN_FDS=1 LISTEN_PID=1
    check_hello "$dir/foreign/m.sock"
    runtime_stop
}

case_the_log_and_the_pid_file() {
    local path pid

    path=$(conf log 'log = "@DIR@/log"')
    sed -i "s|@DIR@|$dir/log|" "$path"
    runtime_start "$path"
    pid=$(cat "$dir/log/pid")
    check_equal "$runtime_pid" "$pid" 'pid file'
    check_hello "$dir/log/m.sock"
    runtime_stop
    check_equal '' "$(cat "$dir/log/output")" 'on the terminal'
    grep -qE '^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z +[a-z]+ +[0-9]+/[0-9]+' "$dir/log/log" || fail "$(head -n 1 "$dir/log/log")"
    check_equal 1 "$(grep -c 'served 1 requests on /hello, 0 errors' "$dir/log/log")" 'tally lines'
}

# As root, the workers are not.
case_workers_are_unprivileged() {
    local child

    [ "$(id -u)" = 0 ] || skip 'needs root'
    runtime_start "$(conf user)"
    for child in $(pgrep -P "$runtime_pid"); do
        check_equal www-data "$(ps -o user= -p "$child" | tr -d ' ')" "user of process $child"
        check_match '^Groups:[[:space:]]*33[[:space:]]*$|^Groups:[[:space:]]*$' "$(grep ^Groups: "/proc/$child/status")"
    done
    runtime_stop
}

# Nothing but the socket is inherited from whoever starts the server.
case_no_descriptor_is_inherited() {
    local child path

    path=$(conf inherit)
    echo secret >"$dir/secret"
    exec 7<"$dir/secret"
    runtime_start "$path"
    exec 7<&-
    for child in $(pgrep -P "$runtime_pid"); do
        if find "/proc/$child/fd" -lname "$dir/secret" | grep -q .; then fail "worker $child has it open"; fi
    done
    runtime_stop
}

# The list of web servers that the FastCGI specification knows: others are closed at once, unix sockets are not asked.
check_refused() { # address [when]
    if SCRIPT_NAME=/hello REQUEST_METHOD=GET timeout 5 cgi-fcgi -bind -connect "$1" 2>/dev/null | grep -q Hello
    then fail "answered to 127.0.0.1 ${2:-}"; fi
}
case_web_server_addresses() {
    local path port

    port=$(free_port)
    path=$(conf peers)
    sed -i "s|fastcgi = { \(.*\) }|fastcgi = { \1, \"127.0.0.1:$port\" }|" "$path"
    runtime_start "$path" env FCGI_WEB_SERVER_ADDRS=192.0.2.1,127.0.0.2
    check_hello "$dir/peers/m.sock"
    check_refused "127.0.0.1:$port"
    wait_until grep -q 'not in FCGI_WEB_SERVER_ADDRS' "$dir/peers/output"
    kill -HUP "$runtime_pid"
    wait_until grep -q '^ok ' "$dir/peers/pid.reload"
    check_refused "127.0.0.1:$port" 'after a reload'
    runtime_stop
    runtime_start "$path" env FCGI_WEB_SERVER_ADDRS=192.0.2.1,127.0.0.1
    check_hello "127.0.0.1:$port"
    runtime_stop
    if FCGI_WEB_SERVER_ADDRS=everybody "$BUILD/millrace" -n -c "$path" 2>"$dir/peers/why"; then fail 'a bad list is taken'; fi
    check_match 'FCGI_WEB_SERVER_ADDRS .everybody.' "$(cat "$dir/peers/why")"
}

# FastCGI knows no passwords: an address that others can reach is named in the log, loopback is not.
case_a_public_address_is_warned_of() {
    local path port

    port=$(free_port)
    path=$(conf public)
    sed -i "s|fastcgi = { .* }|fastcgi = { \"0.0.0.0:$port\" }|" "$path"
    runtime_start "$path"
    check_hello "127.0.0.1:$port"
    runtime_stop
    check_match "listening on 0.0.0.0:$port, backlog [0-9]+" "$(cat "$dir/public/output")"
    check_equal 1 "$(grep -c 'can be reached from other machines' "$dir/public/output")" 'warnings'
    runtime_start "$(conf private)"
    runtime_stop
    check_equal 0 "$(grep -c 'can be reached from other machines' "$dir/private/output" || true)" 'warnings'
}

# For gdb: one process does everything.
case_debug_mode_is_one_process() {
    local path

    path=$(conf debug)
    "$BUILD/millrace" -d -c "$path" </dev/null >"$dir/debug/output" 2>&1 &
    runtime_pid=$!
    at_end "runtime_kill $runtime_pid '$dir/debug'"
    wait_until test -s "$dir/debug/pid"
    check_hello "$dir/debug/m.sock"
    check_equal '' "$(pgrep -P "$runtime_pid" || true)" 'children'
    runtime_stop INT
    check_equal 0 "$runtime_status" 'exit status'
    check_gone "$dir/debug/m.sock" "$dir/debug/pid"
}

# The log is a pipe: its reader leaves, or stays and does not read. Neither stops the server (64 KiB fill a pipe).
case_a_log_that_nobody_reads() {
    local kind path reader

    for kind in gone silent; do
        path=$(conf "log-$kind")
        mkfifo "$dir/log-$kind/fifo"
        if [ "$kind" = gone ]; then
            head -c 1 "$dir/log-$kind/fifo" >/dev/null &
        else
            sleep 60 <"$dir/log-$kind/fifo" &
        fi
        reader=$!
        at_end "kill $reader"
        "$BUILD/millrace" -c "$path" </dev/null >"$dir/log-$kind/fifo" 2>&1 &
        runtime_pid=$!
        at_end "runtime_kill $runtime_pid '$dir/log-$kind'"
        wait_until test -s "$dir/log-$kind/pid"
        timeout 20 python3 -c '
import socket, sys
for number in range(1500):
    link = socket.socket(socket.AF_UNIX)
    link.connect(sys.argv[1])
    link.send(bytes([number % 200 + 2]) * 8)
    link.close()
' "$dir/log-$kind/m.sock"
        check_hello "$dir/log-$kind/m.sock"
        kill -HUP "$runtime_pid" # the master has lines to write as well
        check_hello "$dir/log-$kind/m.sock"
        runtime_stop
        check_equal 0 "$runtime_status" "exit status ($kind)"
    done
}

# More clients than descriptors: accepting pauses and resumes by itself, without spinning and with few log lines.
case_out_of_descriptors() {
    local path port number ticks lines

    port=$(free_port)
    path=$(runtime_conf few-files <<END
fastcgi = { "127.0.0.1:$port" }
pid_file = "@DIR@/pid"
workers = 1
lanes = 1
threads = 4
app "/hello" { file = "@APPS@/hello.so" }
END
    )
    runtime_start "$path" prlimit --nofile=64
    for ((number = 20; number < 140; number++)); do
        eval "exec $number<>/dev/tcp/127.0.0.1/$port"
    done
    ticks=$(cpu_ticks)
    sleep 1 # the time over which the processor's time and the log are looked at
    [ $(($(cpu_ticks) - ticks)) -lt 30 ] || fail "$(($(cpu_ticks) - ticks)) ticks of processor time in a second"
    lines=$(wc -l <"$dir/few-files/output")
    [ "$lines" -lt 20 ] || fail "$lines lines in the log"
    for ((number = 20; number < 140; number++)); do eval "exec $number>&-"; done
    check_hello "127.0.0.1:$port"
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
}
cpu_ticks() { # of the master and its workers, in hundredths of a second
    local pid

    for pid in "$runtime_pid" $(pgrep -P "$runtime_pid"); do cut -d' ' -f14,15 "/proc/$pid/stat"; done |
        awk '{ sum += $1 + $2 } END { print sum }'
}

cases_run "$@"
