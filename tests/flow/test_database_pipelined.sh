#!/bin/bash
# The pipelined style of the database library, with tests/apps/pg_pipelined.c: values, every outcome, neighbours on one
# connection, cancelling, sessions that no longer fit. What happens when the server goes is in test_database_failures.c; that
# no answer is another's in test_database_tokens.c. Cases C62, C63, C64, C69, C70.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119,SC2046,SC1010 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/pg.sh
source "$(dirname "$0")/pg.sh"

cases_need 'a server for the test' pg_make
pg_ask 'CREATE TABLE pair (name text PRIMARY KEY, other text REFERENCES pair DEFERRABLE INITIALLY DEFERRED)'
MILLRACE_PORT=$(free_port)
export MILLRACE_PORT
bouncer_port=$((MILLRACE_PORT + 1))
bouncer=$dir/b
common="host=$pg_sockets port=$pg_port dbname=millrace user=millrace"
conf=$(
    runtime_conf m <<END
fastcgi = { "unix:@DIR@/m.sock" }
http = { "127.0.0.1:$MILLRACE_PORT" }
socket_mode = "0666"
pid_file = "@DIR@/pid"
log = "@DIR@/log"
workers = 1
lanes = 1
threads = 8
app "/hello" { file = "@APPS@/hello.so" }
app "/pg" {
    file = "@TESTAPPS@/pg_pipelined.so"
    options { conninfo = "$common application_name=pg" query_timeout_ms = "3000" }
}
app "/single" {
    file = "@TESTAPPS@/pg_pipelined.so"
    options { conninfo = "$common application_name=single" connections = "1" query_timeout_ms = "1000" }
}
app "/narrow" {
    file = "@TESTAPPS@/pg_pipelined.so"
    options { conninfo = "$common application_name=narrow" queue = "3" }
}
app "/brief" {
    file = "@TESTAPPS@/pg_pipelined.so"
    request_timeout = 1
    options { conninfo = "$common application_name=brief" query_timeout_ms = "20000" }
}
app "/away" {
    file = "@TESTAPPS@/pg_pipelined.so"
    blocking = true
    options { conninfo = "$common application_name=away" }
}
app "/closed" {
    file = "@TESTAPPS@/pg_pipelined.so"
    options { conninfo = "host=$dir dbname=millrace" }
}
app "/hosts" {
    file = "@TESTAPPS@/pg_pipelined.so"
    options { conninfo = "host=$dir,$pg_sockets port=$pg_port,$pg_port dbname=millrace user=millrace target_session_attrs=read-write" }
}
app "/bouncer" {
    file = "@TESTAPPS@/pg_pipelined.so"
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
# Asks for all of them at once, each on a connection of its own: the bodies, a line each, in any order.
ask_together() { # path...
    # shellcheck disable=SC2016 # the inner shell's
    printf '%s\n' "$@" | xargs -P "$#" -I{} sh -c 'echo "$(curl -sS --max-time 20 "$1")"' - "http://127.0.0.1:$MILLRACE_PORT{}"
}
runs() { # application_name text-of-the-statement
    pg_has_connections 1 "$1" "query LIKE '%$2%' AND state = 'active'"
}
runs_none() { # application_name
    pg_has_connections 0 "$1" "state = 'active'"
}

# -- Values and outcomes --------------------------------------------------------------------------------------------------

case_nothing_is_connected_before_it_is_needed() {
    check_equal 0 "$(pg_connections pg)"
    check_equal 11 "$(ask /pg/divisions)"
    check_equal 1 "$(pg_connections pg)"
}

case_values_go_there_and_back() {
    check_equal null "$(ask /pg/text)" 'no text'
    check_equal '' "$(ask '/pg/text?v=')" 'the empty text'
    check_equal 'aä"<' "$(ask '/pg/text?v=a%c3%a4%22%3c')" 'a text'
    check_equal null "$(ask /pg/bytes)" 'no bytes'
    check_equal '00ff01000a' "$(ask '/pg/bytes?v=%00%ff%01%00%0a' | od -An -tx1 | tr -d ' ')" 'bytes'
    check_equal '' "$(ask '/pg/bytes?v=')" 'no byte'
}

case_what_the_server_refuses() {
    check_equal 'refused 22021' "$(ask '/pg/text?v=ab%ffcd')" 'no UTF-8'
    check_equal 'refused 22P02' "$(ask '/pg/number?v=geheim')" 'no number'
    check_equal 42 "$(ask '/pg/number?v=42')" 'afterwards'
    check_equal 1 "$(pg_connections pg)"
    check_match 'database: refused 22' "$(grep '/pg: database: ' "$log")"
    check_equal 0 "$(logged geheim)" 'values in the log'
}

case_a_statement_of_another_table_is_refused() {
    check_match '^refused ' "$(ask /pg/foreign)"
    check_match "not in pg_start's table" "$(grep '/pg: ' "$log")"
}

case_a_second_query_in_answer_to_the_first() {
    check_equal token "$(ask '/pg/chain?v=token')"
}

# Handlers that have lost their lane ask as well.
case_queries_from_threads_without_the_lane() {
    check_equal token "$(ask '/pg/asleep?v=token')"
    check_equal token "$(ask '/away/text?v=token')"
    check_equal "$(seq -s ' ' 101 130)" "$(ask_together $(seq -f '/away/text?v=%.0f' 101 115) $(seq -f '/away/asleep?v=%.0f' 116 130) |
        sort | paste -sd ' ')"
}

case_no_connection_is_told_at_once() {
    local start
    check_equal away "$(ask /closed/divisions)"
    start=$(now_ms)
    for _ in {1..20}; do check_equal away "$(ask /closed/divisions)"; done
    [ $(($(now_ms) - start)) -lt 2000 ] || fail "20 times away took $(($(now_ms) - start)) ms"
    [ "$(logged '/closed: database: ')" -le 5 ] || fail "$(logged '/closed: database: ') lines"
}

# Three may wait or run, the fourth is told so.
case_a_full_queue_is_told_at_once() {
    local out
    check_equal 11 "$(ask /narrow/divisions)"
    out=$(ask_together $(seq -f '/narrow/sleep?v=0.%.0f' 41 47) | sort | uniq -c | awk '$2 == "full" { print $1 }')
    check_equal 4 "$out" 'full'
    check_equal 11 "$(ask /narrow/divisions)" afterwards
}

# -- Neighbours --------------------------------------------------------------------------------------------------------------

# On one connection: what fails fails alone, and reads beside it are answered.
case_failures_keep_to_themselves() {
    local paths=() i
    for i in {100..119}; do
        paths+=("/single/text?v=$i" '/single/number?v=x' "/single/token?v=neighbour$i" "/single/deferred?v=pair$i")
    done
    ask_together "${paths[@]}" | sort | uniq -c | awk '{ print $1, $2, $3 }' >"$dir/answers"
    check_equal 20 "$(grep -c '^1 1[01][0-9] ' "$dir/answers")" 'reads'
    check_equal '20 done' "$(grep done "$dir/answers" | xargs)" 'writes'
    check_equal '20 refused 22P02' "$(grep 22P02 "$dir/answers")"
    check_equal '20 refused 23503' "$(grep 23503 "$dir/answers")" 'what fails at its commit'
    check_equal '20 20' "$(pg_ask "SELECT count(*) || ' ' || count(DISTINCT name) FROM token WHERE name LIKE 'neighbour%'")"
    check_equal 0 "$(pg_ask 'SELECT count(*) FROM pair')"
    check_equal 1 "$(pg_connections single)"
}

# What comes behind a slow query takes another connection.
case_a_slow_query_holds_up_nobody() {
    local start pid
    ask '/pg/sleep?v=1' >"$dir/slow" &
    pid=$!
    wait_until runs pg pg_sleep
    sleep 0.05
    check_equal 11 "$(ask /pg/divisions)" # opens the other
    start=$(now_ms)
    for _ in {1..5}; do check_equal 11 "$(ask /pg/divisions)"; done
    [ $(($(now_ms) - start)) -lt 500 ] || fail "five queries behind a slow one took $(($(now_ms) - start)) ms"
    wait "$pid"
    check_equal 1 "$(cat "$dir/slow")"
    [ "$(pg_connections pg)" -le 2 ] || fail "$(pg_connections pg) connections"
}

# -- Time and clients that leave ---------------------------------------------------------------------------------------------

case_a_query_that_takes_too_long_is_cancelled() {
    local start took pid
    start=$(now_ms)
    ask '/single/text?v=first' >/dev/null
    ask '/single/sleep?v=20' >"$dir/slow" &
    pid=$!
    wait_until runs single pg_sleep
    sleep 0.4
    check_equal behind "$(ask '/single/text?v=behind')" 'one that waits behind it on the only connection'
    wait "$pid"
    took=$(($(now_ms) - start))
    check_equal late "$(cat "$dir/slow")"
    if [ "$took" -lt 900 ] || [ "$took" -gt 2500 ]; then fail "took $took ms, query_timeout_ms is 1000"; fi
    cases_wait_ms=2000
    wait_until runs_none single
    check_equal afterwards "$(ask '/single/text?v=afterwards')"
    check_match 'no answer in time' "$(grep '/single: database: ' "$log")"
}

case_the_requests_own_limit_ends_it() {
    check_equal late "$(ask '/brief/sleep?v=15')"
    cases_wait_ms=2000
    wait_until runs_none brief
    check_equal 11 "$(ask /brief/divisions)"
}

case_a_client_that_goes_takes_its_query_along() {
    request_and_leave /brief sleep v=30
    wait_until grep -q 'told that its client has gone' "$log"
    cases_wait_ms=2000
    wait_until runs_none brief
    check_equal 11 "$(ask /brief/divisions)"
}

# A neighbour on the connection is not hurt when the one before it is cancelled.
case_cancelling_hurts_no_neighbour() {
    local pid
    for _ in {1..5}; do
        request_and_leave /single sleep v=0.8 &
        pid=$!
        wait_until runs single pg_sleep
        check_equal "$(printf '%s\n' a{1..9})" "$(ask_together /single/text?v=a{1..9} | sort)"
        wait "$pid"
    done
}

# -- Sessions ----------------------------------------------------------------------------------------------------------------

case_terminated_connections_cost_no_read() {
    local pid before
    before=$(ask /pg/pid)
    pg_terminate pg >/dev/null
    pid=$(ask /pg/pid)
    check_match '^[0-9]+$' "$pid"
    [ "$pid" != "$before" ] || fail 'the same backend'
    for _ in {1..5}; do
        ask_together /pg/sleep?v=0.0{11..19} >"$dir/terminated" &
        pid=$!
        sleep 0.05
        pg_terminate pg >/dev/null
        wait "$pid"
        check_equal "$(printf '%s\n' 0.0{11..19})" "$(sort "$dir/terminated")"
        check_equal 11 "$(ask /pg/divisions)" # the new connection has answered
    done
}

# A write whose connection is lost is not sent again.
case_a_lost_write_is_not_repeated() {
    local pid
    pg_ask "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END';
            CREATE TRIGGER slowly BEFORE INSERT ON token FOR EACH ROW EXECUTE FUNCTION slowly()"
    ask '/pg/token?v=lost' >"$dir/lost" &
    pid=$!
    wait_until runs pg 'INSERT INTO token'
    pg_terminate pg >/dev/null
    wait "$pid"
    pg_ask 'DROP TRIGGER slowly ON token'
    check_equal away "$(cat "$dir/lost")"
    sleep 0.6 # as long as it would take again
    check_equal 0 "$(pg_ask "SELECT count(*) FROM token WHERE name = 'lost'")"
}

case_a_missing_table_fails_alone_and_may_come_later() {
    check_equal 'refused 42P01' "$(ask /pg/missing)"
    check_equal 11 "$(ask /pg/divisions)" 'another statement meanwhile'
    pg_ask 'CREATE TABLE later (id int)'
    check_equal 0 "$(ask /pg/missing)" 'once the table is there'
    pg_ask 'DROP TABLE later'
    check_equal 'refused 42P01' "$(ask /pg/missing)" 'once it is gone again'
}

# A prepared statement whose result has changed its type is prepared again.
case_a_changed_table_costs_no_request() {
    pg_ask 'CREATE TABLE shape (a int); INSERT INTO shape VALUES (5)'
    for _ in {1..6}; do check_equal 5 "$(ask /pg/shape)"; done
    pg_ask 'ALTER TABLE shape ADD COLUMN b text; ALTER TABLE shape ALTER COLUMN a TYPE text'
    check_equal "$(printf '5\n%.0s' {1..12})" "$(ask_together $(printf '/pg/shape %.0s' {1..12}))" 'after the change'
}

case_scans_are_requests() {
    local before
    # A session at rest may tell its scans later: at its end at the latest.
    pg_ask "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'millrace' AND pid <> pg_backend_pid()" >/dev/null
    wait_until test 1 = "$(pg_ask "SELECT count(*) FROM pg_stat_activity WHERE usename = 'millrace'")"
    pg_ask 'ANALYZE division'
    before=$(pg_ask "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'division'")
    ask_together $(printf '/pg/divisions %.0s' {1..50}) >/dev/null
    pg_terminate pg >/dev/null
    wait_until pg_has_connections 0 pg
    check_equal $((before + 50)) "$(pg_ask "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'division'")"
}

case_the_first_host_that_serves() {
    check_equal 11 "$(ask /hosts/divisions)"
}

case_pgbouncer_in_transaction_mode() {
    bouncer_start
    check_equal 11 "$(ask /bouncer/divisions)"
    check_equal "$(seq 200 259)" "$(ask_together $(seq -f '/bouncer/text?v=%.0f' 200 259) | sort)"
    check_equal 'refused 22P02' "$(ask '/bouncer/number?v=x')"
    check_equal 'done' "$(ask '/bouncer/token?v=through')"
    check_equal 1 "$(pg_ask "SELECT count(*) FROM token WHERE name = 'through'")"
}

# -- Generations -------------------------------------------------------------------------------------------------------------

case_a_reload_and_a_stop_wait_for_queries() {
    local pid
    ask_together /pg/sleep?v=0.2{51..59} >"$dir/reload" &
    pid=$!
    wait_until runs pg pg_sleep
    kill -HUP "$(cat "$dir/m/pid")"
    check_equal 11 "$(ask /pg/divisions)"
    wait "$pid"
    check_equal "$(printf '%s\n' 0.2{51..59})" "$(sort "$dir/reload")" 'over a reload'

    ask '/pg/sleep?v=0.7' >"$dir/stop" &
    pid=$!
    wait_until runs pg pg_sleep
    kill -TERM "$(cat "$dir/m/pid")"
    wait "$pid"
    check_equal 0.7 "$(cat "$dir/stop")" 'over a stop'
    wait_until is_gone "$runtime_pid"
    check_equal 0 "$(pg_ask "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('pg', 'single', 'narrow', 'brief')")"
    check_equal 0 "$(logged 'SIGSEGV|SIGABRT|crash loop')"
}

cases_run "$@"
