# shellcheck shell=bash disable=SC2034 # what is set here is used by the scripts that source it
# environment.sh: what the stack's scripts share: where a stack lives, and how they fail. Sourced, never run.
#
# Sets: root (the repository; installed, nothing of use), state (absolute), port, build (absolute), account (the unprivileged
# user that the servers take when root starts them, empty otherwise).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename "$0")
state=$(realpath -m -- "${MILLRACE_STATE:-$root/build/run}")
build=$(realpath -m -- "${BUILD:-$root/build}")
port=${MILLRACE_PORT:-8080}
account=
[ "$(id -u)" != 0 ] || account=www-data

# The servers' users read what root writes here; what nobody else may reach gets its own mode.
umask 022

fail() { # message [exit status]
    printf '%s: %s\n' "$program" "$1" >&2
    exit "${2:-1}"
}

check_port() {
    if ! [[ $port =~ ^[1-9][0-9]{0,4}$ ]] || [ "$port" -gt 65533 ]; then
        fail "MILLRACE_PORT=$port is no port: a number from 1 to 65533 (the two after it are used as well)" 2
    fi
}

port_is_taken() { # [port]
    (exec 3<>"/dev/tcp/127.0.0.1/${1:-$port}") 2>/dev/null
}

# Unix socket paths hold 107 bytes, and PostgreSQL's is the longest of a stack. The path stands unquoted in the
# configurations of nginx and of the server, and in a connection string.
check_state() {
    local longest=$state/pg/.s.PGSQL.5432
    [ "${#longest}" -le 107 ] ||
        fail "the path $state is too long for unix sockets (${#longest} of 107 bytes): set MILLRACE_STATE to a shorter one"
    [[ $state =~ ^[A-Za-z0-9_./+-]+$ ]] ||
        fail "the path $state has characters that the servers' configurations cannot hold: set MILLRACE_STATE to another"
}

# Runs a command as another user, with nothing of root left.
as_user() { # user command...
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups -- "$@"
}

# Becomes a command that holds nothing of whoever started it: a daemon that kept make's or a caller's pipe open would let
# `make up | cat` wait for ever. Call it in a subshell; standard output and error are redirected by the caller.
become_detached() { # command...
    local descriptor
    for descriptor in /proc/self/fd/*; do
        descriptor=${descriptor##*/}
        [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
    done
    exec "$@" </dev/null
}

# A pid file's number when such a process is alive. The number may have been used again: the caller still has to recognise
# its own process.
live_pid() { # file
    local pid
    { read -r pid _ || [ -n "${pid:-}" ]; } 2>/dev/null <"$1" || return 1
    [[ $pid =~ ^[1-9][0-9]*$ ]] && is_alive "$pid" || return 1
    echo "$pid"
}

# A zombie, which lasts where process 1 is slow to collect it, is not alive.
is_alive() { # pid
    [ -d "/proc/$1" ] && ! grep -qs '^State:[[:space:]]*[ZX]' "/proc/$1/status"
}

wait_gone() { # pid seconds
    local tries=$(($2 * 50))
    while is_alive "$1"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.02
    done
}
