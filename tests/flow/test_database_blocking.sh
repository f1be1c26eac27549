#!/bin/bash
# The blocking style of the database library, with tests/apps/pg_blocking.c: values, the pool, what a handler leaves on its
# connection, statements that fail or take too long. What happens when the server goes is in test_database_servers.sh. Cases
# C61, C62, C63, C65, C68.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/pg.sh
source "$(dirname "$0")/pg.sh"

cases_need 'a server for the test' pg_make
MILLRACE_PORT=$(free_port)
export MILLRACE_PORT
conf=$(
    runtime_conf m <<END
fastcgi = { "unix:@DIR@/m.sock" }
http = { "127.0.0.1:$MILLRACE_PORT" }
status = "127.0.0.1:$((MILLRACE_PORT + 1))"
socket_mode = "0666"
pid_file = "@DIR@/pid"
log = "@DIR@/log"
workers = 1
threads = 32
queue_ms = 10000
app "/hello" { file = "@APPS@/hello.so" }
app "/pg" {
    file = "@TESTAPPS@/pg_blocking.so"
    options {
        conninfo = "host=$pg_sockets port=$pg_port dbname=millrace user=millrace application_name=pg"
        pool = "4"
        query_timeout_ms = "3000"
    }
}
app "/one" {
    file = "@TESTAPPS@/pg_blocking.so"
    options {
        conninfo = "host=$pg_sockets port=$pg_port dbname=millrace user=millrace application_name=one"
        pool = "1"
        query_timeout_ms = "1000"
    }
}
app "/long" {
    file = "@TESTAPPS@/pg_blocking.so"
    options {
        conninfo = "host=$pg_sockets port=$pg_port dbname=millrace user=millrace application_name=long"
        query_timeout_ms = "60000"
    }
}
app "/greedy" {
    file = "@TESTAPPS@/pg_blocking.so"
    options {
        conninfo = "host=$pg_sockets port=$pg_port dbname=millrace user=millrace application_name=greedy"
        pool = "300"
    }
}
END
)
log=$dir/m/log
cases_need 'the server starts' runtime_start "$conf"

ask() { # path [curl-option...]: the body, whatever the status
    curl -sS --max-time 20 "${@:2}" "http://127.0.0.1:$MILLRACE_PORT$1"
}
# The status of each of so many requests at once.
ask_together() { # count path
    seq "$1" | xargs -P "$1" -I{} curl -sS --max-time 20 -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$MILLRACE_PORT$2"
}
# Lines of the log about one thing.
logged() { # extended-regular-expression
    grep -cE "$1" "$log" || true
}
no_connection_in_a_transaction() {
    [ "$(pg_ask "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")" = 0 ]
}
hello_answers() {
    [ "$(fetch_status /hello)" = 200 ]
}
# What the status shows of a route's database.
figure() { # route name
    curl -sS --max-time 20 "http://127.0.0.1:$((MILLRACE_PORT + 1))/metrics" | sed -n "s|^millrace_app_$2\(_total\)\{0,1\}{route=\"$1\"} ||p"
}
figure_is() { # route name value
    [ "$(figure "$1" "$2")" = "$3" ]
}
tokens() { # name
    pg_ask "SELECT count(*) FROM token WHERE name = '$1'"
}

# -- Values ------------------------------------------------------------------------------------------------------------

case_nothing_is_connected_before_it_is_needed() {
    check_equal 0 "$(pg_connections pg)"
    check_equal '11 names' "$(ask /pg/divisions)"
    check_equal 1 "$(pg_connections pg)"
}

# Early, so that the sanitizers see at its end what the worker does in the cases after it.
case_a_crash_in_a_transaction() {
    local worker

    worker=$(pgrep -P "$(cat "$dir/m/pid")" | sort | tr '\n' ' ')
    check_equal 000 "$(fetch_status '/one/crash?v=crashed' 2>/dev/null)"
    wait_until no_connection_in_a_transaction
    wait_until hello_answers
    [ "$worker" != "$(pgrep -P "$(cat "$dir/m/pid")" | sort | tr '\n' ' ')" ] || fail 'the worker is the same'
    check_equal '11 names' "$(ask /one/divisions)"
    check_equal 0 "$(tokens crashed)"
}

case_values_go_there_and_back() {
    check_equal null "$(ask /pg/text)" 'no text'
    check_equal '' "$(ask '/pg/text?v=')" 'the empty text'
    check_equal 200 "$(fetch_status '/pg/text?v=')"
    check_equal 'aä"<' "$(ask '/pg/text?v=a%c3%a4%22%3c')" 'a text'
    check_equal null "$(ask /pg/bytes)" 'no bytes'
    check_equal '00ff01000a' "$(ask '/pg/bytes?v=%00%ff%01%00%0a' | od -An -tx1 | tr -d ' ')" 'bytes'
    check_equal '' "$(ask '/pg/bytes?v=')" 'no byte'
    check_equal 36 "$(ask /pg/many)" 'more values than have a place on the stack'
}

# 400 where a value was wrong, without a word of the server's; and its text is not in the log.
case_values_that_the_database_cannot_take() {
    local query body

    for query in 'text?v=ab%ffcd' 'text?v=%c3' 'number?v=geheim' 'number?v=99999999999'; do
        check_equal 400 "$(fetch_status "/pg/$query")" "$query"
        body=$(ask "/pg/$query")
        [[ ! $body =~ SELECT|geheim|ERROR|22 ]] || fail "the page of $query: $body"
    done
    wait_until grep -qE 'database: refused 22' "$log"
    check_equal 0 "$(logged 'geheim|9999')" 'values in the log'
    check_equal '11 names' "$(ask /pg/divisions)" 'afterwards'
}

case_wrong_calls_are_answered_and_logged() {
    check_equal '2 2 2' "$(ask /pg/misuse)" # PG_AWAY
    check_equal 1 "$(logged "statement that was not in pg_start's table")"
    check_equal 1 "$(logged "none of pg_connection's")"
}

# -- The pool -------------------------------------------------------------------------------------------------------------

case_the_same_connection_for_a_request() {
    check_equal same "$(ask /one/same)"
    check_equal same "$(ask /one/same)"
    check_equal 1 "$(pg_connections one)"
}

case_never_more_than_the_pool() {
    local out=$dir/held

    ask_together 24 '/pg/hold?v=60' >"$out"
    check_equal 24 "$(grep -cx 200 "$out")" 'answers'
    check_equal 4 "$(pg_connections pg)"
}

# The one who has waited longest is next; who waits for too long is told so.
case_borrowers_wait_in_order_and_not_for_ever() {
    local start took pid name order=$dir/order
    local -a pids=()

    rm -f "$order"
    for took in 500 1500 1500 1500; do
        ask "/pg/hold?v=$took" >"$dir/holder" &
        pids+=($!)
    done
    wait_until pg_has_connections 4 pg "state = 'idle'"
    sleep 0.05 # the holder has the connection; there is nothing to see of that
    for name in 1 2 3; do
        { ask '/pg/hold?v=20' >/dev/null && echo "$name" >>"$order"; } &
        pids+=($!)
        sleep 0.03 # they come one after the other
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    check_equal '1 2 3 ' "$(tr '\n' ' ' <"$order")" 'order'

    ask '/one/hold?v=2000' >"$dir/holder" &
    pid=$!
    sleep 0.1
    start=$(now_ms)
    check_equal 503 "$(fetch_status /one/divisions)" 'the pool is exhausted'
    took=$(($(now_ms) - start))
    if [ "$took" -lt 900 ] || [ "$took" -gt 1600 ]; then fail "waited $took ms, query_timeout_ms is 1000"; fi
    check_equal 1 "$(logged '/one: database: no connection of the pool became free in time')"
    wait "$pid"
    check_equal '11 names' "$(ask /one/divisions)" 'afterwards'
}

# As many wait as there are connections, and nobody gets on: more of them would only hold threads.
case_who_finds_the_pool_stuck_is_told_at_once() {
    local start took pid

    ask '/one/hold?v=900' >"$dir/holder" &
    pid=$!
    sleep 0.1
    ask /one/divisions >"$dir/waits" &
    pid+=" $!"
    wait_until figure_is /one pg_waiting 1
    sleep 0.3 # no connection was lent for 100 ms
    start=$(now_ms)
    check_equal 503 "$(fetch_status /one/divisions)"
    took=$(($(now_ms) - start))
    [ "$took" -lt 250 ] || fail "refused after $took ms"
    # shellcheck disable=SC2086 # two of them
    wait $pid
    check_equal '11 names' "$(cat "$dir/waits")" 'the one who waited'
}

# A client that leaves while its request waits for a connection leaves the queue.
case_one_who_waits_and_goes_takes_no_turn() {
    local pid waiting

    ask '/one/hold?v=900' >"$dir/holder" &
    pid=$!
    sleep 0.1
    request_and_leave /one token v=left
    wait "$pid"
    check_equal '11 names' "$(ask /one/divisions)"
    waiting=$(tokens left)
    check_equal 0 "$waiting" 'what it wanted to write'
}

case_more_than_the_server_gives_is_said_once() {
    check_equal '11 names' "$(ask /greedy/divisions)"
    check_equal '11 names' "$(ask /greedy/divisions)"
    check_equal 1 "$(logged '/greedy: database: the server gives 197 connections, one worker may want 302: keep workers x')"
    check_equal 0 "$(logged '/pg: database: the server gives')"
}

# What there is must do: the others wait for it.
case_fewer_connections_than_the_pool() {
    local out=$dir/limited

    pg_terminate pg >/dev/null
    wait_until pg_has_connections 0 pg
    pg_ask_as_owner "ALTER ROLE millrace CONNECTION LIMIT $(($(pg_ask_as_owner \
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'millrace'") + 2))"
    ask_together 12 '/pg/hold?v=50' >"$out"
    pg_ask_as_owner 'ALTER ROLE millrace CONNECTION LIMIT -1'
    check_equal 12 "$(grep -c 200 "$out")" "answers 200 ($(tr '\n' ' ' <"$out"))"
    check_match '[1-9]' "$(logged '/pg: database: no connection: .*too many connections for role')"
}

# -- Statements -------------------------------------------------------------------------------------------------------------

case_a_statement_of_a_missing_table_fails_alone() {
    local before

    before=$(logged 'refused 42P01')
    check_equal 503 "$(fetch_status /pg/missing)"
    [[ ! $(ask /pg/missing) =~ later|SELECT|relation ]] || fail 'the page has the text of the server'
    check_equal '11 names' "$(ask /pg/divisions)" 'another statement meanwhile'
    [ "$(logged 'refused 42P01')" -gt "$before" ] || fail 'nothing was logged'
    pg_ask 'CREATE TABLE later (id int)'
    check_equal 0 "$(ask /pg/missing)" 'once the table is there'
    pg_ask 'DROP TABLE later'
    check_equal 503 "$(fetch_status /pg/missing)" 'once it is gone again'
}

# A prepared statement whose result has changed its type, or that somebody has removed, is prepared again.
case_a_changed_table_costs_no_request() {
    local _

    pg_ask 'CREATE TABLE shape (a int); INSERT INTO shape VALUES (5)'
    for _ in {1..6}; do check_equal 5 "$(ask /pg/shape)"; done
    pg_ask 'ALTER TABLE shape ADD COLUMN b text; ALTER TABLE shape ALTER COLUMN a TYPE text'
    for _ in {1..6}; do check_equal 5 "$(ask /pg/shape)" 'after the change'; done
}

case_a_statement_that_takes_too_long_is_cancelled() {
    local start took

    start=$(now_ms)
    check_equal 503 "$(fetch_status '/one/sleep?v=20')"
    took=$(($(now_ms) - start))
    if [ "$took" -lt 900 ] || [ "$took" -gt 1900 ]; then fail "took $took ms, query_timeout_ms is 1000"; fi
    check_equal 0 "$(pg_connections one "state = 'active'")" 'statements that go on'
    check_match 'cancelled, its time was over: SELECT pg_sleep' "$(grep '/one: database: ' "$log" | tail -n 1)"
    check_equal '11 names' "$(ask /one/divisions)" 'afterwards'
}

case_a_client_that_goes_takes_its_statement_along() {
    request_and_leave /long sleep v=30
    cases_wait_ms=2000
    wait_until pg_has_connections 0 long "query LIKE '%pg_sleep%' AND state = 'active'"
    check_equal '11 names' "$(ask /long/divisions)" 'the connection goes on'
    check_equal 1 "$(pg_connections long)"
}

case_the_status_counts() {
    local name pid
    local -A before=()

    ask /one/divisions >/dev/null
    for name in queries errors connects cancels; do before[$name]=$(figure /one "pg_$name"); done
    for _ in {1..5}; do ask /one/divisions >/dev/null; done
    fetch_status '/one/number?v=x' >/dev/null
    check_equal $((before[queries] + 6)) "$(figure /one pg_queries)" 'queries'
    check_equal $((before[errors] + 1)) "$(figure /one pg_errors)" 'errors'
    ask '/one/sleep?v=9' >"$dir/late" &
    pid=$!
    wait_until pg_has_connections 1 one "state = 'active'"
    ask /one/divisions >"$dir/waits" &
    pid+=" $!"
    wait_until figure_is /one pg_waiting 1
    check_equal 1 "$(figure /one pg_running)" 'running'
    check_equal 1 "$(figure /one pg_connections)" 'connections'
    # shellcheck disable=SC2086 # two of them
    wait $pid
    check_equal 0 "$(figure /one pg_waiting)" 'waiting'
    check_equal 0 "$(figure /one pg_running)" 'running'
    check_equal "${before[connects]}" "$(figure /one pg_connects)" 'connections made'
    fetch_status /one/finish >/dev/null
    check_equal 0 "$(figure /one pg_connections)" 'connections'
    ask /one/divisions >/dev/null
    check_equal 1 "$(figure /one pg_connections)" 'connections'
    check_equal $((before[connects] + 1)) "$(figure /one pg_connects)" 'connections made'
}

# -- What a handler leaves --------------------------------------------------------------------------------------------------

case_open_and_failed_transactions_are_rolled_back() {
    local session

    session=$(ask /one/state)
    ask '/one/commit?v=committed' >/dev/null
    check_equal 1 "$(tokens committed)"
    ask '/one/open?v=open' >/dev/null
    no_connection_in_a_transaction || fail 'a transaction is open'
    check_equal 0 "$(tokens open)"
    ask '/one/failed?v=failed' >/dev/null
    no_connection_in_a_transaction || fail 'a failed transaction is open'
    check_equal 0 "$(tokens failed)"
    check_equal "$session" "$(ask /one/state)" 'the same connection'
}

case_a_changed_session_is_reset() {
    local changed after

    changed=$(ask /one/change)
    check_match '^[0-9]+ 77MB 1 leftover 2 1$' "$changed" # work_mem, LISTEN, temporary table, cursors and this one's, prepared
    after=$(ask /one/state)
    check_equal "${changed%% *} 4MB 0 - 1 0" "$after" 'the same connection'
    check_equal 0 "$(pg_ask "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")" 'advisory locks'
}

case_nothing_else_is_left_either() {
    local what

    for what in unfinished copy pipeline finish reset; do
        check_equal 200 "$(fetch_status "/one/$what")" "$what"
        check_match '^[0-9]+ 4MB 0 - 1 0$' "$(ask /one/state)" "after $what"
        check_equal 1 "$(pg_connections one)" "connections after $what"
    done
    check_equal 0 "$(pg_connections one "state = 'active'")" 'statements that go on'
}

descriptors() { # of the worker that serves
    local pid

    for pid in $(pgrep -P "$(cat "$dir/m/pid")"); do find "/proc/$pid/fd" -type l | wc -l; done | sort -n | tail -n 1
}

case_failures_cost_no_descriptor() {
    local what before

    for what in number?v=x missing failed unfinished copy finish; do fetch_status "/one/$what" >/dev/null; done
    before=$(descriptors)
    for _ in {1..20}; do
        for what in number?v=x missing failed unfinished copy finish; do fetch_status "/one/$what" >/dev/null; done
    done
    [ "$(descriptors)" -le "$before" ] || fail "descriptors: $before before, $(descriptors) afterwards"
}

# Also for the sanitizers, which look for leaks then.
case_a_stopped_server_leaves_no_connection() {
    kill -TERM "$(cat "$dir/m/pid")"
    wait_until is_gone "$runtime_pid"
    wait_until pg_has_connections 0 pg
    check_equal 0 "$(pg_ask "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('one', 'long', 'greedy')")"
    check_equal 0 "$(logged 'SIGSEGV|crash loop')"
}

# -- Options -------------------------------------------------------------------------------------------------------------------

case_wrong_options_are_named() {
    local wrong place status

    place=$(dirname "$(runtime_conf wrong </dev/null)")
    while IFS='|' read -r options wrong; do
        printf '%s\n' 'fastcgi = { "unix:@DIR@/m.sock" }' \
            "app \"/pg\" { file = \"@TESTAPPS@/pg_blocking.so\" options { $options } }" | runtime_conf wrong >/dev/null
        status=0
        timeout -k 2 15 "$BUILD/millrace" -c "$place/millrace.conf" </dev/null >"$place/output" 2>&1 || status=$?
        check_equal 1 "$status" "exit status with $options"
        check_match "$wrong" "$(cat "$place/output")" "$options"
    done <<'END'
pool = "4"|option .conninfo. is missing
conninfo = "host"|option .conninfo. is no connection string: missing "="
conninfo = "connect_timeout=soon"|connect_timeout is 'soon'
conninfo = "host=a" pool = "0"|option .pool. is '0': give a number from 1 to 1000
conninfo = "host=a" connections = "x"|option .connections. is 'x'
conninfo = "host=a" queue = "-1"|option .queue. is '-1'
conninfo = "host=a" query_timeout_ms = "1s"|option .query_timeout_ms. is '1s'
conninfo = "host=a" prepare = "maybe"|option .prepare. is 'maybe': give yes, or no for pgbouncer
END
}

cases_run "$@"
