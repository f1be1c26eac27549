#!/bin/bash
# The unit files, and the server as systemd's child: sockets by descriptor, word of what it does by datagram.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"

tree=$dir/tree
units=$tree/lib/systemd/system
unit=$units/millrace.service
cases_need 'make install' make_target install PREFIX="$tree"

setting() { # name [file]
    sed -n "s/^$1=//p" "${2:-$unit}"
}

conf() { # name [workers]: a server on @DIR@/m.sock, with the pid file that the unit would name
    runtime_conf "$1" <<END
fastcgi = { "unix:@DIR@/m.sock" }
pid_file = "@DIR@/pid"
workers = ${2:-2}
lanes = 1
threads = 4
app "/hello" { file = "@APPS@/hello.so" }
END
}
check_hello() { # path of the socket
    REQUEST_METHOD=GET SCRIPT_NAME=/hello timeout 10 cgi-fcgi -bind -connect "$1" >"$dir/answer" 2>&1 || true
    check_match 'Hello, World' "$(cat "$dir/answer")"
}

# -- a service manager that only listens ---------------------------------------------------------------------------

# Writes each message as a line `PID TEXT` to $dir/NAME/notes; its socket is $dir/NAME/notify.
manager_start() { # name
    command -v python3 >/dev/null || skip 'needs python3 to listen like systemd'
    python3 -c '
import os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
manager.bind(sys.argv[1] + "/notify")
with open(sys.argv[1] + "/notes", "a", buffering=1) as notes:
    while True:
        text, extra, _, _ = manager.recvmsg(4096, 256)
        pid = next(int.from_bytes(data[:4], sys.byteorder) for _, kind, data in extra if kind == socket.SCM_CREDENTIALS)
        notes.write("%d %s\n" % (pid, text.decode().replace("\n", " ")))
' "$dir/$1" 2>"$dir/$1/manager.log" &
    at_end "runtime_kill $! '$dir/$1'"
    notes=$dir/$1/notes
    wait_until test -e "$notes" -a -S "$dir/$1/notify"
}

# What NotifyAccess=main lets through: the messages of the main process, which is another after its own MAINPID=.
heard() { # pid of the first
    awk -v main="$1" '$1 == main { print; if (match($0, /MAINPID=[0-9]+/)) main = substr($0, RSTART + 8, RLENGTH - 8) }' "$notes"
}
has_heard() { # pid pattern number: so many messages by now
    [ "$(heard "$1" | grep -cE -- "$2")" -ge "$3" ]
}
# `reloading` after RELOADING=1 until READY=1, then `running`.
state_of_service() { # pid
    heard "$1" | awk '/READY=1/ { state = "running" } /RELOADING=1/ { state = "reloading" } /STOPPING=1/ { state = "stopping" }
        END { print state }'
}

start_managed() { # name: sets main
    local path

    path=$(conf "$1")
    manager_start "$1"
    runtime_start "$path" env NOTIFY_SOCKET="$dir/$1/notify" MILLRACE_PID_FILE="$dir/$1/pid"
    main=$runtime_pid
    wait_until has_heard "$main" 'READY=1' 1
}

# -- the units -----------------------------------------------------------------------------------------------------

case_the_units_are_valid() {
    local one

    command -v systemd-analyze >/dev/null || skip 'needs systemd-analyze'
    for one in "$units"/*; do
        check_equal '' "$(systemd-analyze verify --man=no "$one" 2>&1)" "${one##*/}"
    done
}

case_the_service_can_do_little_harm() {
    command -v systemd-analyze >/dev/null || skip 'needs systemd-analyze'
    systemd-analyze security --offline=true --threshold=35 "$unit" >"$dir/security" 2>&1 || fail "$(tail -n 1 "$dir/security")"
}

case_the_commands_are_there() {
    local program

    for program in "$(setting ExecStart)" "$(setting ExecReload)"; do
        [ -x "${program%% *}" ] || fail "$program"
    done
}

# Times that must be in order, and places that the parts of the installation must agree on.
case_the_units_agree_with_the_server() {
    local stop_timeout reload

    stop_timeout=$("$tree/sbin/millrace" -h | awk '$1 == "stop_timeout" { print $3 }')
    [ "$(setting TimeoutStopSec)" -gt "$stop_timeout" ] || fail "TimeoutStopSec is not above stop_timeout ($stop_timeout s)"
    reload=$(setting ExecReload | sed 's/.* -t //')
    [ "$(setting TimeoutStartSec)" -gt "$reload" ] || fail "systemd would not wait for ExecReload ($reload s)"
    check_equal fastcgi "$(setting FileDescriptorName "$units/millrace.socket")"
    check_equal http "$(setting FileDescriptorName "$units/millrace-http.socket")"
    check_equal millrace.service "$(setting Service "$units/millrace-http.socket")"
    check_equal status "$(setting FileDescriptorName "$units/millrace-status.socket")"
    check_equal millrace.service "$(setting Service "$units/millrace-status.socket")"
    check_match "unix:$(setting ListenStream "$units/millrace.socket")" "$(cat "$tree/share/doc/millrace/millrace.conf.sample")"
    check_match "unix:$(setting ListenStream "$units/millrace.socket")" "$(cat "$tree/share/doc/millrace/nginx/production.conf")"
    check_match "$(setting Environment)" "MILLRACE_PID_FILE=/run/millrace/millrace.pid"
    check_equal yes "$(setting RuntimeDirectoryPreserve)" 'the socket outlives the service'
}

case_tmpfiles_makes_the_directories() {
    [ "$(id -u)" = 0 ] || skip 'needs root to make directories of root'
    command -v systemd-tmpfiles >/dev/null || skip 'needs systemd-tmpfiles'
    mkdir -p "$dir/machine"
    systemd-tmpfiles --create --root="$dir/machine" "$tree/lib/tmpfiles.d/millrace.conf"
    check_equal '755 root:root' "$(stat -c '%a %U:%G' "$dir/machine/run/millrace")"
    check_equal '750 root:root' "$(stat -c '%a %U:%G' "$dir/machine/var/log/millrace")"
}

# -- sockets ---------------------------------------------------------------------------------------------------------

# systemd's own program for trying this starts the server at the first connection, which waits until it is ready.
case_sockets_by_name() {
    local path port

    command -v systemd-socket-activate >/dev/null || skip 'needs systemd-socket-activate'
    path=$(conf named)
    port=$(free_port)
    systemd-socket-activate -l "$dir/named/by_systemd.sock" -l "127.0.0.1:$port" --fdname=fastcgi:status \
        "$tree/sbin/millrace" -c "$path" </dev/null >"$dir/named/output" 2>&1 &
    runtime_pid=$!
    at_end "runtime_kill $runtime_pid '$dir/named'"
    wait_until test -S "$dir/named/by_systemd.sock"
    check_hello "$dir/named/by_systemd.sock"
    check_equal "$runtime_pid" "$(cat "$dir/named/pid")" 'pid'
    check_gone "$dir/named/m.sock"
    wait_until curl -sSf -o "$dir/status" --max-time 5 "http://127.0.0.1:$port/status.json"
    check_match '"/hello"' "$(cat "$dir/status")"
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
    [ -S "$dir/named/by_systemd.sock" ] || fail 'the server has removed a socket that is not its own'
}

# -- what the server says ------------------------------------------------------------------------------------------

case_ready_and_stopping() {
    start_managed start
    check_match "^$main READY=1" "$(head -n 1 "$notes")"
    [ -s "$dir/start/pid" ] || fail 'it is ready without a pid file'
    runtime_stop
    check_equal 0 "$runtime_status" 'exit status'
    wait_until has_heard "$main" 'STOPPING=1' 1
    check_equal stopping "$(state_of_service "$main")"
}

case_not_ready_before_the_workers_are() {
    local path

    path=$(conf broken)
    manager_start broken
    echo 'workerz = 1' >>"$path"
    if NOTIFY_SOCKET=$dir/broken/notify "$tree/sbin/millrace" -c "$path" 2>/dev/null; then fail 'it started'; fi
    check_equal '' "$(grep READY=1 "$notes" || true)" 'it said that it is ready'
}

case_a_reload() {
    start_managed reload
    kill -HUP "$main"
    wait_until has_heard "$main" 'READY=1' 2
    check_match "$main RELOADING=1 MONOTONIC_USEC=[0-9]+( |$)" "$(heard "$main")"
    check_equal running "$(state_of_service "$main")"
    runtime_stop
}

# systemd would wait for the end of a reload that has failed, too.
case_a_reload_that_fails() {
    start_managed failing
    echo 'workerz = 1' >>"$dir/failing/millrace.conf"
    kill -HUP "$main"
    wait_until has_heard "$main" 'RELOADING=1' 1
    wait_until has_heard "$main" 'READY=1' 2
    check_equal running "$(state_of_service "$main")"
    check_hello "$dir/failing/m.sock"
    runtime_stop
}

# The unit's own command, for this server.
case_the_reload_command_of_the_unit() {
    start_managed command
    local -a command

    read -ra command < <(setting ExecReload)
    command+=(-p "$dir/command/pid" -l "$dir/command/output" -c "$dir/command/millrace.conf")
    "${command[@]}"
    echo 'workerz = 1' >>"$dir/command/millrace.conf"
    if "${command[@]}" 2>"$dir/err"; then fail 'a reload that failed looks like success'; fi
    check_match 'workerz' "$(cat "$dir/err")"
    check_hello "$dir/command/m.sock"
    runtime_stop
}

# The old master makes the new one the main process. By the messages that systemd accepts the service must be running
# afterwards, and nobody else may have tried to speak.
case_an_upgrade_hands_the_service_on() {
    local next

    start_managed upgrade
    kill -USR2 "$main"
    wait_until has_heard "$main" 'MAINPID=' 1
    next=$(heard "$main" | sed -n 's/.*MAINPID=\([0-9]*\).*/\1/p')
    at_end "runtime_kill $next '$dir/upgrade'"
    check_equal "$next" "$(cat "$dir/upgrade/pid")" 'the new main process'
    wait_until is_gone "$main"
    check_equal running "$(state_of_service "$main")" 'state of the service'
    check_equal "$(heard "$main")" "$(cat "$notes")" 'messages that systemd refuses'
    check_hello "$dir/upgrade/m.sock"
    kill -HUP "$next"
    wait_until has_heard "$main" "$next RELOADING=1" 1
    wait_until has_heard "$main" "$next READY=1" 1
    check_equal running "$(state_of_service "$main")" 'state of the service after a reload'
    kill -TERM "$next"
    wait_until is_gone "$next"
    check_equal stopping "$(state_of_service "$main")"
    wait_until no_process_but_the_manager "$dir/upgrade"
}
no_process_but_the_manager() { # directory
    [ "$(processes_of "$1" | wc -l)" -le 1 ]
}

case_an_upgrade_that_fails() {
    start_managed stays
    echo 'workerz = 1' >>"$dir/stays/millrace.conf"
    kill -USR2 "$main"
    wait_until has_heard "$main" 'RELOADING=1' 1
    wait_until has_heard "$main" 'READY=1' 2
    check_equal running "$(state_of_service "$main")"
    check_equal "$(heard "$main")" "$(cat "$notes")" 'messages that systemd refuses'
    check_hello "$dir/stays/m.sock"
    runtime_stop
}

cases_run "$@"
