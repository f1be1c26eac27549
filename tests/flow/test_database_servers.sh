#!/bin/bash
# What the blocking style of the database library does when its server goes away, is silent, or is one of several; TLS,
# passwords, pgbouncer. Cases C61, C63, C64, C67.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/pg.sh
source "$(dirname "$0")/pg.sh"

cases_need 'a server for the test' pg_make
MILLRACE_PORT=$(free_port)
export MILLRACE_PORT
standby_port=$((pg_port + 1)) # free_port looks at three
closed_port=$((pg_port + 2))
bouncer_port=$((MILLRACE_PORT + 1))
bouncer=$dir/b

# A port that takes connections and says nothing.
silent_start() {
    python3 -c 'import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(1000)
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >"$dir/silent" &
    at_end "kill $!"
    wait_until test -s "$dir/silent"
}
cases_need 'a silent port' silent_start
silent_port=$(cat "$dir/silent")

on_tcp="host=127.0.0.1 port=$pg_port dbname=millrace user=millrace sslmode=require"
conf=$(
    runtime_conf m <<END
fastcgi = { "unix:@DIR@/m.sock" }
http = { "127.0.0.1:$MILLRACE_PORT" }
pid_file = "@DIR@/pid"
log = "@DIR@/log"
workers = 1
threads = 32
app "/hello" { file = "@APPS@/hello.so" }
app "/pg" {
    file = "@TESTAPPS@/pg_blocking.so"
    max_busy = 16
    options {
        conninfo = "host=$pg_sockets port=$pg_port dbname=millrace user=millrace application_name=pg"
        pool = "4"
        query_timeout_ms = "1500"
    }
}
app "/silent" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "host=127.0.0.1 port=$silent_port connect_timeout=1" }
}
app "/patient" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "host=127.0.0.1 port=$silent_port" query_timeout_ms = "400" }
}
app "/wrong" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "$on_tcp password=wrong" }
}
app "/tls" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "$on_tcp password='a secret'" }
}
app "/hosts" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "host=127.0.0.1,127.0.0.1,$pg_sockets,$pg_sockets port=$silent_port,$closed_port,$standby_port,$pg_port dbname=millrace user=millrace connect_timeout=1 target_session_attrs=read-write" }
}
app "/standby" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "host=$pg_sockets,$pg_sockets port=$pg_port,$standby_port dbname=millrace user=millrace target_session_attrs=prefer-standby" }
}
app "/bouncer" {
    file = "@TESTAPPS@/pg_blocking.so"
    options { conninfo = "host=$bouncer port=$bouncer_port dbname=millrace user=millrace" prepare = "no" }
}
END
)
log=$dir/m/log
cases_need 'the server starts' runtime_start "$conf"

ask() { # path [curl-option...]: the body, whatever the status
    curl -sS --max-time 20 "${@:2}" "http://127.0.0.1:$MILLRACE_PORT$1"
}
logged() { # extended-regular-expression
    grep -cE "$1" "$log" || true
}
answers() { # path body
    [ "$(ask "$1")" = "$2" ]
}
ask_together() { # count path
    seq "$1" | xargs -P "$1" -I{} curl -sS --max-time 20 -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$MILLRACE_PORT$2"
}
worker() {
    pgrep -P "$(cat "$dir/m/pid")" | sort | tr '\n' ' '
}

# Requests at a rate, each on a connection of its own, in the background; load_end gives the line of their statuses.
load_begin() { # path seconds
    httperf --server 127.0.0.1 --port "$MILLRACE_PORT" --uri "$1" --rate 100 --num-conns $(($2 * 100)) --timeout 10 \
        >"$dir/load" 2>&1 &
    load_pid=$!
}
# Every request was answered, with 200 or 503.
load_check() { # seconds
    wait "$load_pid"
    check_match "connections $(($1 * 100)) requests $(($1 * 100)) replies $(($1 * 100)) " "$(grep '^Total:' "$dir/load")"
    check_match '1xx=0 2xx=[0-9]+ 3xx=0 4xx=0 5xx=' "$(grep '^Reply status' "$dir/load")"
}
# A server that is there again is used again within 2 s.
check_recovery() { # path
    local cases_wait_ms=2000
    wait_until answers "$1" '11 names'
}

# -- Gone and back ------------------------------------------------------------------------------------------------------

check_restart() { # how
    local before lines

    wait_until answers /pg/divisions '11 names'
    before=$(worker)
    lines=$(logged '/pg: database: ')
    load_begin /pg/divisions 4
    sleep 0.5 # some requests before it
    pg_control "$pg_data" -m "$1" restart
    check_recovery /pg/divisions
    load_check 4
    check_equal "$before" "$(worker)" 'workers'
    lines=$(($(logged '/pg: database: ') - lines))
    [ "$lines" -le 24 ] || fail "$lines lines in the log"
}
case_restarted_fast() { check_restart fast; }
case_restarted_at_once() { check_restart immediate; }

# Those that idle are found out before they are lent.
case_idle_connections_that_were_terminated_cost_no_request() {
    local _

    for _ in {1..5}; do
        ask_together 8 '/pg/hold?v=20' >/dev/null
        pg_terminate pg >/dev/null
        wait_until pg_has_connections 0 pg
        for _ in {1..4}; do check_equal '11 names' "$(ask /pg/divisions)"; done
    done
}

# Nobody knows whether a statement was executed whose connection was lost: it is not sent again.
case_a_write_whose_connection_is_lost_is_not_repeated() {
    local pid

    pg_ask 'CREATE TABLE slow_count (n int);
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$;
        CREATE TRIGGER slow AFTER INSERT ON token FOR EACH ROW EXECUTE FUNCTION slow()'
    fetch_status '/pg/token?v=lost' >"$dir/status" &
    pid=$!
    wait_until pg_has_connections 1 pg "state = 'active' AND query LIKE 'INSERT%'"
    pg_terminate pg >/dev/null
    wait "$pid"
    check_equal 503 "$(cat "$dir/status")"
    check_equal '11 names' "$(ask /pg/divisions)"
    check_equal 0 "$(pg_connections pg "state = 'active'")" 'statements that run'
    check_equal 0 "$(pg_ask "SELECT count(*) FROM token WHERE name = 'lost'")"
    pg_ask 'DROP TRIGGER slow ON token'
    check_match 'connection was lost: ' "$(grep '/pg: database: a' "$log" | tail -n 1)" # or an idle one in the same second
}

# The server is there and does nothing: requests end within their time, others do not notice, nothing is left afterwards.
case_stopped_for_a_time() {
    local start took end

    wait_until answers /pg/divisions '11 names'
    load_begin /pg/divisions 6
    sleep 0.3 # some requests before it
    at_end 'pg_signal CONT'
    pg_signal STOP
    start=$(now_ms)
    check_equal 503 "$(fetch_status /pg/divisions)"
    took=$(($(now_ms) - start))
    [ "$took" -le 3000 ] || fail "a request took $took ms: query_timeout_ms is 1500, cancelling has 1000"
    end=$(($(now_ms) + 2500))
    while [ "$(now_ms)" -lt "$end" ]; do
        start=$(now_ms)
        check_equal 200 "$(fetch_status /hello)" 'another route'
        took=$(($(now_ms) - start))
        [ "$took" -le 500 ] || fail "another route took $took ms"
        sleep 0.05
    done
    pg_signal CONT
    check_recovery /pg/divisions
    load_check 6
    check_equal 0 "$(pg_connections pg "state = 'active'")" 'statements that go on'
}

case_started_without_a_server() {
    pg_control "$pg_data" -m fast stop
    kill -HUP "$(cat "$dir/m/pid")" # a new generation, which knows nothing of the server
    wait_until grep -q 'generation 2 serves' "$log"
    check_equal 503 "$(fetch_status /pg/divisions)"
    check_match 'Retry-After: 1' "$(curl -sS -o /dev/null -D - "http://127.0.0.1:$MILLRACE_PORT/pg/divisions")"
    check_equal 200 "$(fetch_status /hello)"
    pg_control "$pg_data" start
    check_recovery /pg/divisions
    wait_until grep -q '/pg: database: connected: the server is there again' "$log"
}

# -- Away -----------------------------------------------------------------------------------------------------------------

case_a_port_that_says_nothing() {
    local start took pid

    start=$(now_ms)
    check_equal 503 "$(fetch_status /silent/divisions)"
    took=$(($(now_ms) - start))
    if [ "$took" -lt 900 ] || [ "$took" -gt 1600 ]; then fail "took $took ms, connect_timeout is 1 s"; fi
    check_match "connection to server at .127.0.0.1., port $silent_port: no answer in time" "$(grep '/silent: ' "$log" | tail -n 1)"
    sleep 0.1 # the first pause is over
    fetch_status /silent/divisions >"$dir/probe" &
    pid=$!
    sleep 0.2 # it tries
    start=$(now_ms)
    check_equal 503 "$(fetch_status /silent/divisions)" 'meanwhile'
    took=$(($(now_ms) - start))
    [ "$took" -lt 500 ] || fail "one who comes while another tries took $took ms"
    wait "$pid"
    check_equal 503 "$(cat "$dir/probe")"

    start=$(now_ms)
    check_equal 503 "$(fetch_status /patient/divisions)"
    took=$(($(now_ms) - start))
    if [ "$took" -lt 350 ] || [ "$took" -gt 1000 ]; then fail "took $took ms, query_timeout_ms is 400"; fi
}

case_a_wrong_password() {
    local lines _ end

    check_equal 503 "$(fetch_status /wrong/divisions)"
    [[ ! $(ask /wrong/divisions) =~ password|millrace|127 ]] || fail 'the page has the text of the server'
    check_match 'password authentication failed for user "millrace"' "$(grep '/wrong: ' "$log" | tail -n 1)"
    lines=$(logged '/wrong: ')
    end=$(($(now_ms) + 2000))
    while [ "$(now_ms)" -lt "$end" ]; do
        check_equal 503 "$(fetch_status /wrong/divisions)"
        fetch_status '/tls/number?v=x' >/dev/null # so that no line is the same as the one before
    done
    lines=$(($(logged '/wrong: ') - lines))
    [ "$lines" -le 3 ] || fail "$lines lines in 2 s"
    [ "$(logged '/tls: database: refused 22P02')" -le 4 ] || fail "$(logged '/tls: database: refused') lines of another failure"
    pg_ask "ALTER ROLE millrace PASSWORD 'wrong'"
    check_recovery /wrong/divisions
    pg_ask "ALTER ROLE millrace PASSWORD 'a secret'"
}

case_tls() {
    check_match '^TLSv1\.[23]$' "$(ask /tls/secure)"
    check_equal '11 names' "$(ask /tls/divisions)"
    check_equal 'ä' "$(ask '/tls/text?v=%c3%a4')"
}

# -- pgbouncer --------------------------------------------------------------------------------------------------------------

# Eight connections share two of the server's: nothing that a session remembers may be relied upon.
case_pgbouncer_in_transaction_mode() {
    local number

    bouncer_start
    check_equal '11 names' "$(ask /bouncer/divisions)"
    check_equal 16 "$(ask_together 16 '/bouncer/hold?v=50' | grep -c 200)"
    seq 40 | xargs -P 8 -I{} curl -sS -o "$dir/own{}" "http://127.0.0.1:$MILLRACE_PORT/bouncer/text?v=own{}"
    for number in {1..40}; do check_equal "own$number" "$(cat "$dir/own$number")" 'the answer of another'; done
    check_equal 'ä' "$(ask '/bouncer/text?v=%c3%a4')"
    check_equal null "$(ask /bouncer/bytes)"
    check_equal 400 "$(fetch_status '/bouncer/number?v=x')"
    ask '/bouncer/commit?v=bounced' >/dev/null
    ask '/bouncer/open?v=bounced' >/dev/null
    check_equal 1 "$(pg_ask "SELECT count(*) FROM token WHERE name = 'bounced'")"
    check_equal 503 "$(fetch_status /bouncer/missing)"
    check_equal 0 "$(pg_ask "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")"
    pg_ask "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'millrace'" >/dev/null
    check_recovery /bouncer/divisions
}

# -- Several hosts: the last case, since another server is the right one afterwards --------------------------------------------

standby_make() {
    mkdir -m 700 "$pg_state/standby"
    [ "$(id -u)" != 0 ] || chown postgres "$pg_state/standby"
    pg_owner "$pg_bin/pg_basebackup" -D "$pg_state/standby" -h "$pg_sockets" -p "$pg_port" -U postgres -R -X stream -c fast \
        >"$dir/standby.log" 2>&1 || fail "$(cat "$dir/standby.log")"
    echo "port = $standby_port" | pg_owner tee -a "$pg_state/standby/postgresql.conf" >/dev/null
    at_end "pg_control '$pg_state/standby' -m immediate stop"
    pg_control "$pg_state/standby" start
}

case_several_hosts_and_another_becomes_the_right_one() {
    local start took

    standby_make
    start=$(now_ms)
    check_equal "$pg_port" "$(ask /hosts/port)" 'the one that can be written to'
    took=$(($(now_ms) - start))
    if [ "$took" -lt 900 ] || [ "$took" -gt 2500 ]; then fail "took $took ms: the silent one has 1000, the others answer"; fi
    check_equal "$standby_port" "$(ask /standby/port)" 'the standby'
    pg_control "$pg_data" -m fast stop
    check_equal 503 "$(fetch_status '/hosts/token?v=nowhere')"
    check_equal "$standby_port" "$(ask /standby/port)" 'the standby alone'
    pg_control "$pg_state/standby" promote
    cases_wait_ms=4000 # 2 s, of which the silent host takes 1 each time
    wait_until answers /hosts/port "$standby_port"
    check_equal 'done' "$(ask '/hosts/token?v=promoted')"
    check_equal "$standby_port" "$(ask /standby/port)" 'no standby: any'
}

cases_run "$@"
