# shellcheck shell=bash disable=SC2034 # what is set here is used by the scripts that source it
# common.sh: what the peers' start and stop scripts share: where a peer lives, how its files are made, how it is found
# again and ended. Sourced, never run.
#
# Environment: PEER_PORT (8090), where it answers on 127.0.0.1; PEER_STATE (build/peers/NAME), a folder of its own, which
# stop removes; PEER_DATABASE (millrace), a database of the stack's cluster (MILLRACE_STATE). Started by root its workers run
# as www-data, else as whoever starts it.
#
# Sets: peer (its folder), name, place (absolute), peer_port, and what runtime/environment.sh sets.

# shellcheck source=runtime/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../runtime/environment.sh"
export LC_ALL=C
PATH=$PATH:/usr/sbin

peer=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$peer")
program=$name/$program
place=$(realpath -m -- "${PEER_STATE:-$build/peers/$name}")
peer_port=${PEER_PORT:-8090}

# -- before the start -------------------------------------------------------------------------------------------------

configuration_of() { # the script's arguments: which one is meant
    [ $# = 1 ] && [[ $1 =~ ^[a-z0-9_-]+$ ]] && [ "$1" != pages ] && [ -d "$peer/$1" ] ||
        fail "usage: bench/peers/$name/start CONFIGURATION (a folder of bench/peers/$name: default, tuned, ...)" 2
    echo "$1"
}

need_package() { # command package
    command -v "$1" >/dev/null || fail "$1 is not installed: apt-get install $2 (or: make peers)" 4
}

check_place() {
    [[ $peer_port =~ ^[1-9][0-9]{0,4}$ ]] && [ "$peer_port" -le 65535 ] || fail "PEER_PORT=$peer_port is no port" 2
    [[ $place =~ ^[A-Za-z0-9_./+-]+$ ]] && [ ${#place} -le 90 ] ||
        fail "PEER_STATE=$place: a path of at most 90 letters, digits and _ . / + -" 2
    [ ! -e "$place" ] || fail "$place exists: run bench/peers/$name/stop first"
    ! port_is_taken "$peer_port" || fail "port $peer_port is in use: set PEER_PORT to another"
}

# The pages and the configuration, with what this start is about filled in, are copies: workers that have no rights on the
# repository read them.
make_place() { # configuration
    mkdir -p "$place"
    echo "made by bench/peers/$name/start" >"$place/peer"
    cp -r "$peer/pages" "$peer/$1" "$place/"
    find "$place/pages" "${place:?}/$1" -type f -print0 | while IFS= read -r -d '' file; do fill_in "$file"; done
    chmod -R a+rX "$place"
    [ -z "$account" ] || as_user "$account" test -r "$place/pages" ||
        fail "the user $account cannot reach $place: set PEER_STATE to a folder that everybody may enter"
}

fill_in() { # file, in its place
    local user='# workers run as whoever started it' apache_user='# workers run as whoever started it'
    if [ -n "$account" ]; then
        user="user $account;"
        apache_user="User $account"$'\\\n'"Group $(id -gn "$account")"
    fi
    sed -i -e "s|@PLACE@|$place|g" -e "s|@PORT@|$peer_port|g" -e "s|@NGINX_USER@|$user|" -e "s|@APACHE_USER@|$apache_user|" \
        -e "s|@CONNINFO@|host=$state/pg dbname=${PEER_DATABASE:-millrace} user=millrace|g" "$1"
}

# -- running ----------------------------------------------------------------------------------------------------------

# What goes wrong after this is undone.
undo_on_failure() {
    trap 'undo $?' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

undo() { # exit status
    trap - EXIT
    trap '' INT TERM
    [ "$1" = 0 ] || { tail -q -n 3 "$place"/*.log >&2 || true; } 2>/dev/null
    [ "$1" = 0 ] || end_peer
    exit "$1"
}

daemon() { # command...: returns when it has gone to the background
    (cd "$place" && become_detached "$@") >>"$place/start.log" 2>&1 || fail "$1 did not start: $(tail -n 1 "$place/start.log")"
}

wait_for_answer() { # path
    local tries=200
    until curl -s -f -o /dev/null --max-time 5 "http://127.0.0.1:$peer_port$1"; do
        [ $((tries -= 1)) -gt 0 ] || fail "$1 is not answered on port $peer_port"
        sleep 0.05
    done
}

# -- the end ----------------------------------------------------------------------------------------------------------

# Its processes, master or orphan, are those at work in its folder or with a file of it open.
processes() {
    find /proc/[0-9]*/cwd /proc/[0-9]*/fd -maxdepth 1 \( -lname "$place" -o -lname "$place/*" \) 2>/dev/null |
        cut -d / -f 3 | sort -u | while read -r number; do
        case $(cat "/proc/$number/comm" 2>/dev/null) in
        apache2 | nginx | php-fpm*) echo "$number" ;;
        esac
    done
}

end_processes() { # signal
    local number
    while read -r number; do kill "-$1" "$number" 2>/dev/null || true; done < <(processes)
}

wait_for_end() { # seconds
    local tries=$(($1 * 20))
    while [ -n "$(processes)" ]; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.05
    done
}

# Masters are told first, and end their workers; what they leave is ended after them.
end_peer() {
    local file number
    [ -e "$place/peer" ] || return 0
    for file in "$place"/*.pid; do
        number=$(live_pid "$file") && processes | grep -qx "$number" && kill -TERM "$number" || true
    done
    if ! wait_for_end 5; then
        end_processes TERM
        wait_for_end 2 || end_processes KILL
        wait_for_end 2 || fail "its processes do not end: $(processes | tr '\n' ' ')"
    fi
    rm -rf "$place"
}
