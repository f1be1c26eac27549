# shellcheck shell=bash
# Headless Chromium, driven through WebDriver. A test sources this behind cases.sh, calls browser_start with a free port before
# its cases, and in them `browse` and `leave`.

# The driver's port; without Chromium the whole program is skipped.
browser_start() { # port
    if ! command -v chromedriver >/dev/null || ! command -v chromium >/dev/null; then
        echo "skip - $title: chromium and chromium-driver are not installed"
        exit 0
    fi
    driver=http://127.0.0.1:$1
    chromedriver --port="$1" --log-path="$dir/chromedriver.log" </dev/null >/dev/null 2>&1 &
    at_end "kill $!"
    # A case that has failed leaves its browser.
    at_end "for one in \$(curl -s $driver/sessions | grep -o '[0-9a-f]\{32\}'); do curl -s -X DELETE $driver/session/\$one; done"
    cases_need 'chromedriver answers' wait_until curl -sf "$driver/status"
}

# A WebDriver command. Prints the answer's value, without what is around it.
webdriver() { # method path [json]
    local answer
    answer=$(curl -sS --max-time 60 -X "$1" -H 'Content-Type: application/json' ${3:+--data-binary "$3"} "$driver$2") || return 1
    answer=${answer#'{"value":'}
    printf '%s' "${answer%'}'}"
}

# Opens a browser on $page.
browse() { # colour-scheme width
    local options
    options='"--headless=new","--no-sandbox","--disable-gpu","--disable-dev-shm-usage","--hide-scrollbars",'
    options+="\"--user-data-dir=$(mktemp -d "$dir/chromium.XXXXXX")\",\"--window-size=$2,900\""
    [ "$1" = light ] || options+=',"--force-dark-mode"'
    webdriver POST /session "{\"capabilities\":{\"alwaysMatch\":{\"goog:loggingPrefs\":{\"browser\":\"ALL\"},
        \"goog:chromeOptions\":{\"args\":[$options],\"mobileEmulation\":{\"deviceMetrics\":{\"width\":$2,\"height\":900,\"pixelRatio\":1,\"mobile\":false}}}}}}" \
        >"$dir/session.json" || fail "no session: $(cat "$dir/session.json")"
    session=$(sed -n 's/.*"sessionId":"\([0-9a-f]*\)".*/\1/p' "$dir/session.json")
    [ -n "$session" ] || fail "no session: $(cat "$dir/session.json")"
    visit "$page"
}
visit() { # URL
    webdriver POST "/session/$session/url" "{\"url\":\"$1\"}" >/dev/null
}
leave() {
    webdriver DELETE "/session/$session" >/dev/null
    session=
}
evaluate() { # expression, without double quotes: its value as text
    webdriver POST "/session/$session/execute/sync" "{\"script\":\"return String($1)\",\"args\":[]}" |
        sed 's/^"//; s/"$//; s/\\u003C/</g'
}
console_is_empty() {
    check_equal '[]' "$(webdriver POST "/session/$session/se/log" '{"type":"browser"}')" "the browser's console"
}
fits_the_window() { # width
    check_equal "$1" "$(evaluate 'document.documentElement.clientWidth')" 'the window'
    check_equal true "$(evaluate 'document.documentElement.scrollWidth<=document.documentElement.clientWidth')" \
        "no horizontal scrolling at $1 px"
}

# The lowest contrast of a text with what is behind it (WCAG 2.1: 4.5 at least), over all elements that have text of their own.
contrast="(()=>{const n=c=>c.match(/[0-9.]+/g).map(Number);const l=c=>{const[r,g,b]=n(c).map(v=>{v/=255;return v<=0.03928?v/12.92:((v+0.055)/1.055)**2.4});\
return 0.2126*r+0.7152*g+0.0722*b};const back=e=>{for(;e;e=e.parentElement){const c=getComputedStyle(e).backgroundColor;if(n(c)[3]!==0)return c}return 'rgb(255,255,255)'};\
let low=99;for(const e of document.body.querySelectorAll('*')){if(![...e.childNodes].some(c=>c.nodeType===3&&c.data.trim())||e.tagName==='SCRIPT')continue;\
const a=l(getComputedStyle(e).color),b=l(back(e));low=Math.min(low,(Math.max(a,b)+0.05)/(Math.min(a,b)+0.05))}return low.toFixed(2)})()"

can_be_read() { # colour-scheme
    local value dark=false
    [ "$1" = light ] || dark=true
    check_equal "$dark" "$(evaluate "matchMedia('(prefers-color-scheme:dark)').matches")" "the $1 scheme"
    value=$(evaluate "$contrast")
    awk -v "value=$value" 'BEGIN { exit !(value >= 4.5 && value < 30) }' || fail "contrast $value in the $1 scheme"
}
