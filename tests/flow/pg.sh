# shellcheck shell=bash
# pg.sh: a PostgreSQL of its own for the tests of the database library: over TCP as well, with TLS and passwords, and taken away
# in every way. Sourced after cases.sh.
# shellcheck disable=SC2154 # dir and root are of cases.sh

pg_state=$dir/s # short: it holds a socket's path
pg_sockets=$pg_state/pg
pg_data=$pg_state/pg-data
pg_port=$(free_port)
pg_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr | head -n 1)
pg_log=$pg_state/postgresql.log

# Runs a command as the server's owner.
pg_owner() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid="$(id -gn postgres)" --init-groups -- env LC_ALL=C.UTF-8 "$@"
    else
        env LC_ALL=C.UTF-8 "$@"
    fi
}

# Starts, stops, restarts, reloads, promotes. Detached: a server that kept the test's pipes open would never let it end.
pg_control() { # data argument...
    local data=$1
    shift
    (cd / && pg_owner setsid --wait "$pg_bin/pg_ctl" -D "$data" -w -t 30 -s -l "$pg_log" "$@") </dev/null >>"$dir/pg_ctl.log" 2>&1
}

# A server whose port is the test's own, so db/cluster makes it and then leaves it alone.
pg_make() {
    MILLRACE_STATE=$pg_state "$root/db/cluster" up
    at_end "pg_control '$pg_data' -m immediate stop"
    openssl req -new -x509 -days 2 -nodes -subj /CN=localhost -out "$pg_data/server.crt" -keyout "$pg_data/server.key" 2>/dev/null
    chmod 600 "$pg_data/server.key"
    [ "$(id -u)" != 0 ] || chown postgres "$pg_data"/server.*
    cat >>"$pg_data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = $pg_port
ssl = on
wal_level = replica
END
    cat >>"$pg_data/pg_hba.conf" <<'END'
local replication postgres peer map=owner
hostssl all millrace 127.0.0.1/32 scram-sha-256
END
    pg_control "$pg_data" restart
    pg_ask "ALTER ROLE millrace PASSWORD 'a secret'; CREATE TABLE token (name text)"
}

pg_ask() { # sql [psql's argument...]
    local sql=$1
    shift
    "$pg_bin/psql" -h "$pg_sockets" -p "$pg_port" -U millrace -d millrace -XAtqc "$sql" "$@"
}
pg_ask_as_owner() { # sql
    pg_owner "$pg_bin/psql" -h "$pg_sockets" -p "$pg_port" -U postgres -d millrace -XAtqc "$1"
}

# How many connections there are of an application, and a condition if there is one.
pg_connections() { # application_name [condition]
    pg_ask "SELECT count(*) FROM pg_stat_activity WHERE application_name = '$1' AND ${2:-true}"
}

pg_has_connections() { # count application_name [condition]
    [ "$(pg_connections "${@:2}")" = "$1" ]
}

pg_terminate() { # application_name
    pg_ask "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$1'"
}

# SIGSTOP or SIGCONT to all of the server's processes.
pg_signal() { # signal
    local pid
    for pid in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$pg_data" 2>/dev/null | sed 's|/proc/\([0-9]*\)/.*|\1|'); do
        kill "-$1" "$pid"
    done
}

# Sends a request over FastCGI and leaves when it has begun. (Over HTTP one who only stops sending still waits.)
request_and_leave() { # route what query
    local pid
    REQUEST_METHOD=GET SCRIPT_NAME=$1 PATH_INFO=/$2 REQUEST_URI=$1/$2 QUERY_STRING=$3 SERVER_PROTOCOL=HTTP/1.1 CONTENT_LENGTH=0 \
        cgi-fcgi -bind -connect "$dir/m/m.sock" </dev/null >"$dir/left" 2>&1 &
    pid=$!
    sleep 0.3
    kill -KILL "$pid"
}

# pgbouncer in transaction mode before the server, at $bouncer_port in $bouncer; two connections of the server's.
bouncer_start() {
    mkdir -p "$bouncer"
    cat >"$bouncer/ini" <<END
[databases]
millrace = host=$pg_sockets port=$pg_port dbname=millrace user=millrace
[pgbouncer]
unix_socket_dir = $bouncer
listen_port = $bouncer_port
logfile = $bouncer/log
pidfile = $bouncer/pid
auth_type = any
pool_mode = transaction
default_pool_size = 2
END
    [ "$(id -u)" != 0 ] || chown -R postgres "$bouncer"
    (cd / && pg_owner setsid --wait "$(command -v pgbouncer)" -q -d "$bouncer/ini") </dev/null >>"$dir/bouncer.log" 2>&1
    at_end "kill \$(cat '$bouncer/pid')"
    wait_until test -S "$bouncer/.s.PGSQL.$bouncer_port"
}
