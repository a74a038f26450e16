#!/bin/sh
# Builds and runs the tests:  sh tests/run.sh [--sanitize | --coverage] [--long] [name...]
#                             sh tests/run.sh --hosts [version...]
#                             sh tests/run.sh --readers [name...]
#                             sh tests/run.sh --clients [name...]
#                             sh tests/run.sh --packages [name...]
#                             sh tests/run.sh --valgrind [name...]
#                             sh tests/run.sh --browser [name...]
#                             sh tests/run.sh --soak [minutes]
#                             sh tests/run.sh --bench [option...]
#                             sh tests/run.sh --fuzz [--seconds N] [--keep] [target...]
#   --sanitize  under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer, in build-sanitize
#   --long      longer random runs and bigger loads
#   --coverage  how much of src/ and ext/ they run, and what they do not, in build-coverage
#   --hosts     the module in other versions of SQLite, which it fetches and builds (tests/hosts/releases.txt)
#   --readers   what is exported, read by DuckDB and others, which it fetches (tests/interop; with the name chdb also by
#               ClickHouse, of half a gigabyte), and an OpenStack Swift to export to
#   --clients   the programs of sql/examples/clients, in their languages (tests/clients/run.py has the names)
#   --packages  meson install, the npm package, the wheel and Debian's packages, built and used (tests/packages)
#   --valgrind  a chosen part of the tests under memcheck (tests/valgrind): half an hour and more
#   --browser   the page of sql/report.sql in headless Chromium (tests/browser)
#   --soak      continuous use by the clock, an hour or so many minutes: two sinks, retention, timers (tests/soak)
#   --bench     no test: how fast and how small, beside other ways to keep the same rows, built to be fast in build-bench
#               (its options: tests/bench/run.py --help)
#   --fuzz      bytes that a reader does not bear, looked for by clang's libFuzzer in build-fuzz, N seconds (600) a target
#               (tests/fuzz); what was found before is part of the ordinary run
#   name        only the tests whose name holds one of these words (see them all: meson test -C build --list)
# On a bare Debian it installs what is missing. The last line is "N passed, N failed".
set -eu

usage() {
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
. "$root/tests/setup.sh"

if [ "${1-}" = --bench ]; then
  shift
  install_missing python3 ca-certificates nodejs
  build_into "$root/build-bench" --buildtype=release
  exec python3 "$root/tests/bench/run.py" "$root/build-bench" "$@"
fi

if [ "${1-}" = --fuzz ]; then
  shift
  install_missing python3 clang libclang-rt-dev # the latter is the sanitizers and libFuzzer
  export CC=clang
  build_into "$root/build-fuzz" -Dc_args=-fsanitize=fuzzer-no-link -Db_sanitize=address,undefined
  exec python3 "$root/tests/fuzz/run.py" "$root/build-fuzz" "$@"
fi

sanitize=
coverage=
long=
others=
newline='
'
words=
while [ $# -gt 0 ]; do
  case $1 in
  --sanitize) sanitize=yes ;;
  --coverage) coverage=yes ;;
  --long) long=yes ;;
  --hosts | --readers | --clients | --browser | --packages | --valgrind | --soak) others=${others:+$others }${1#--} ;;
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    echo "unknown option $1" >&2
    usage >&2
    exit 2
    ;;
  *) words="$words${words:+$newline}$1" ;;
  esac
  shift
done

case $others in
*' '*)
  echo "--hosts, --readers, --clients, --browser, --packages, --valgrind and --soak are runs of their own" >&2
  exit 2
  ;;
esac
if [ -n "$others" ] && [ -n "$sanitize$coverage$long" ]; then
  echo "--$others goes with no other option" >&2
  exit 2
fi
if [ -n "$sanitize" ] && [ -n "$coverage" ]; then
  echo "--sanitize and --coverage are two runs" >&2
  exit 2
fi

case $others in
hosts) install_missing python3 ca-certificates ;;
clients)
  install_missing python3 ca-certificates g++ nodejs node.h perl libdbd-sqlite3-perl php-cli php-sqlite3 ruby \
    ruby-sqlite3 tcl libsqlite3-tcl
  ;;
valgrind) install_missing python3 valgrind ;;
soak) install_missing python3 ;;
browser) install_missing python3 chromium fonts-dejavu-core ;;
packages)
  # Nodesource's nodejs has npm; Debian's has not.
  install_missing python3 nodejs npm python3-venv python3-pip dpkg-dev debhelper fakeroot man mandoc
  ;;
readers) install_missing python3 ca-certificates nodejs swift-proxy swift-account swift-container swift-object ;;
*) install_missing curl python3-prometheus-client ;;
esac
if [ -n "$others" ]; then
  folder=$others
  [ "$others" != readers ] || folder=interop
  build_into "$root/build"
  # shellcheck disable=SC2086 # versions and names are words
  exec python3 "$root/tests/$folder/run.py" "$root/build" $words
fi
if [ -n "$sanitize" ]; then
  build=$root/build-sanitize
  build_into "$build" -Db_sanitize=address,undefined --optimization=1 # half the time to build
  export ASAN_OPTIONS=halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
elif [ -n "$coverage" ]; then
  build=$root/build-coverage
  CC=gcc build_into "$build" --buildtype=debug -Db_coverage=true
  find "$build" -name '*.gcda' -delete
else
  build=$root/build
  build_into "$build"
fi

set -- --no-rebuild --print-errorlogs --quiet
# What clients, examples and SQLite's own logic tests do in Tidemark other tests do, too, in a fraction of the time.
[ -z "$sanitize" ] || [ -n "$words" ] || set -- "$@" --no-suite clients --no-suite examples --no-suite slt
# The counters are exported symbols, which the tidy test does not like.
[ -z "$coverage" ] || set -- "$@" --no-suite tidy
if [ -n "$long" ]; then
  export TIDE_TEST_LONG=1
  set -- "$@" --timeout-multiplier 30
fi
if [ -n "$words" ]; then
  names=$(meson test -C "$build" --no-rebuild --list </dev/null 2>/dev/null | sed 's/^tidemark[^ ]* [/] //; s/^tidemark://' |
    grep -F -- "$words") || {
    echo "no test's name holds: $words" >&2
    exit 2
  }
  set -f
  IFS=$newline
  # shellcheck disable=SC2086 # one name a line
  set -- "$@" $names
  unset IFS
  set +f
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0
meson test -C "$build" "$@" </dev/null >"$output" 2>&1 || status=$?
# Meson's counts stand at the end; show what comes before them.
sed '/^Ok: /,$d; /^ninja: /d; /^$/d' "$output"
counts=$(awk '
  /^Ok: |^Expected Fail: / { passed += $NF; seen = 1 }
  /^Fail: |^Unexpected Pass: |^Timeout: / { failed += $NF }
  /^Skipped: / { skipped += $NF }
  END { if (seen) printf "%d passed, %d failed%s", passed, failed, skipped ? ", " skipped " skipped" : "" }' "$output")
if [ -z "$counts" ]; then
  cat "$output" >&2
  echo "meson test did not say how many tests passed" >&2
  exit 1
fi
[ -z "$coverage" ] || python3 "$root/tests/coverage/report.py" "$build"
echo "$counts"
exit "$status"
