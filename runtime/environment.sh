# shellcheck shell=bash
# environment.sh: what the stack's scripts share: where a stack lives, and how they fail. Sourced, never run.
#
# Sets: root (the repository), state (absolute), port, build (absolute), account (the unprivileged user that the servers
# take when root starts them, empty otherwise).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename "$0")
state=$(realpath -m -- "${MILLRACE_STATE:-$root/build/run}")
build=$(realpath -m -- "${BUILD:-$root/build}")
port=${MILLRACE_PORT:-8080}
account=
[ "$(id -u)" != 0 ] || account=www-data

fail() { # message [exit status]
    printf '%s: %s\n' "$program" "$1" >&2
    exit "${2:-1}"
}

check_port() {
    [[ $port =~ ^[1-9][0-9]{0,4}$ ]] && [ "$port" -le 65533 ] ||
        fail "MILLRACE_PORT=$port is no port: a number from 1 to 65533 (the two after it are used as well)" 2
}

# Unix socket paths hold 107 bytes; PostgreSQL's is the longest of a stack.
check_state_length() {
    local longest=$state/pg/.s.PGSQL.5432
    [ "${#longest}" -le 107 ] ||
        fail "the path $state is too long for unix sockets (${#longest} of 107 bytes): set MILLRACE_STATE to a shorter one"
}

# Runs a command as another user, with nothing of root left.
as_user() { # user command...
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups -- "$@"
}

# A pid file's process, when it is alive and its command name is the one given.
running_pid() { # file command-name
    local pid
    [ -s "$1" ] || return 1
    read -r pid _ <"$1" || [ -n "${pid:-}" ] || return 1
    [[ $pid =~ ^[0-9]+$ ]] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || return 1
    echo "$pid"
}

wait_gone() { # pid seconds
    local tries=$(($2 * 50))
    while [ -d "/proc/$1" ] && ! grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.02
    done
}
