#!/bin/bash
# The status page in headless Chromium, driven through WebDriver: it shows what happens, refreshes itself, runs nothing that
# came from outside, fits a telephone's width, and can be read in both colour schemes.
# Cases are called by their names, which shellcheck does not follow.
# shellcheck disable=SC2317,SC2119 source=tests/flow/cases.sh
source "$(dirname "$0")/cases.sh"
# shellcheck source=tests/flow/browser.sh
source "$root/tests/flow/browser.sh"

port=$(free_port)
page=http://127.0.0.1:$port/

# -- The server ---------------------------------------------------------------------------------------------------------

runtime_start "$(runtime_conf page <<END
fastcgi = { "unix:@DIR@/m.sock" }
pid_file = "@DIR@/pid"
log = "@DIR@/log"
status = "127.0.0.1:$port"
threads = 8
app "/hello" { file = "@APPS@/hello.so" }
app "/sleeper" { file = "@TESTAPPS@/sleeper.so" }
app "/status" { file = "@TESTAPPS@/status.so" }
END
)"

ask() { # path query
    SCRIPT_NAME=$1 REQUEST_URI="$1?$2" QUERY_STRING=$2 REQUEST_METHOD=GET timeout 20 cgi-fcgi -bind -connect "$dir/page/m.sock"
}

browser_start $((port + 1))

# -- Cases --------------------------------------------------------------------------------------------------------------

shows() { # text that main holds
    [[ $(evaluate "document.querySelector('main').innerText") == *"$1"* ]]
}

case_it_shows_what_happens_and_refreshes_itself() {
    browse light 1280
    check_match 'Millrace' "$(evaluate 'document.title')"
    shows /hello || fail "no /hello: $(evaluate "document.querySelector('main').innerText")"
    evaluate '(window.stays=true)' >/dev/null
    ask /sleeper '6000' >/dev/null &
    wait_until shows 'GET /sleeper?6000'
    for _ in {1..7}; do ask /hello '' >/dev/null; done
    # shellcheck disable=SC2016 # the page's own
    wait_until counted 7
    check_equal true "$(evaluate 'window.stays')" 'the page was not loaded anew'
    wait
    leave
}
counted() { # requests on /hello
    [ "$(evaluate "[...document.querySelectorAll('tr')].find(r=>r.cells[0].innerText.trim()==='/hello').cells[2].innerText")" = "$1" ]
}

case_nothing_from_outside_runs() {
    browse light 1280
    ask /sleeper '4000&<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"'"'" >/dev/null &
    wait_until shows '<script>window.hacked'
    check_equal undefined "$(evaluate 'typeof window.hacked')"
    check_equal 0 "$(evaluate "document.querySelectorAll('main script,main img').length")"
    console_is_empty
    wait
    leave
}

case_it_fits_the_window() {
    local width
    for width in 390 1280; do
        browse light "$width"
        ask /sleeper "1500&$(printf 'x%.0s' {1..120})" >/dev/null &
        wait_until shows sleeper
        fits_the_window "$width"
        wait
        leave
    done
}

# What changes below a reader's eyes leaves the page, and each table in its box, where they are.
case_it_keeps_its_place() {
    local place box="document.querySelector('#routes .box')"
    browse light 390
    evaluate "(scrollTo(0,200),$box.scrollLeft=150)" >/dev/null
    place=$(evaluate "[scrollY,$box.scrollLeft]")
    check_match '^[1-9][0-9]*,150$' "$place"
    ask /hello '' >/dev/null
    evaluate "(window.before=$box.innerText)" >/dev/null
    wait_until changed "$box.innerText"
    check_equal "$place" "$(evaluate "[scrollY,$box.scrollLeft]")" 'scrolled to'
    leave
}
changed() { # expression
    ask /hello '' >/dev/null
    [ "$(evaluate "$1!==window.before")" = true ]
}

case_it_can_be_read() {
    local scheme
    ask /status 500 >/dev/null # what is bad has a colour of its own
    for scheme in light dark; do
        browse "$scheme" 1280
        can_be_read "$scheme"
        leave
    done
}

# The last case: the server goes.
case_it_says_when_nobody_answers() {
    browse light 1280
    check_equal '' "$(evaluate "document.getElementById('lost').innerText")"
    runtime_stop
    wait_until lost
    check_match '/hello' "$(evaluate "document.querySelector('main').innerText")" 'what was shown'
    leave
}
lost() {
    [[ $(evaluate "document.getElementById('lost').innerText") == 'No answer since '* ]]
}

cases_run "$@"
