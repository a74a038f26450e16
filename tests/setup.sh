# shellcheck shell=sh disable=SC2154
# What tests/run.sh and sql/demo.sh share: tools from Debian's packages, and a build. Sourced, with $root set to the top
# of the checkout; not run by itself. Its variables begin with setup_, since sh has no local ones.

# The Debian packages that this machine still lacks, one a line. Arguments: what is wanted beside what every build needs.
missing_packages() {
  for extra in "$@"; do
    case $extra in
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates ;;
    fonts-dejavu-core) [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || echo fonts-dejavu-core ;;
    nodejs) command -v node >/dev/null || echo nodejs ;;
    node.h) # beside a node that is not Debian's
      setup_node=$(command -v node) && [ -e "${setup_node%/bin/node}/include/node/node.h" ] || echo libnode-dev ;;
    libdbd-sqlite3-perl) perl -MDBD::SQLite -e 1 2>/dev/null || echo "$extra" ;;
    php-cli) command -v php >/dev/null || echo "$extra" ;;
    php-sqlite3) php -r 'exit(class_exists("SQLite3") ? 0 : 1);' 2>/dev/null || echo "$extra" ;;
    ruby-sqlite3) ruby -r sqlite3 -e 1 2>/dev/null || echo "$extra" ;;
    tcl) command -v tclsh >/dev/null || echo "$extra" ;;
    libsqlite3-tcl) echo 'exit [catch {package require sqlite3}]' | tclsh >/dev/null 2>&1 || echo "$extra" ;;
    libclang-rt-dev) ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 || echo "$extra" ;;
    python3-prometheus-client) [ -d /usr/lib/python3/dist-packages/prometheus_client ] || echo "$extra" ;;
    python3-venv) [ -e /usr/share/doc/python3-venv ] || echo "$extra" ;;
    python3-pip) [ -e /usr/share/doc/python3-pip ] || echo "$extra" ;;
    debhelper) command -v dh >/dev/null || echo "$extra" ;;
    dpkg-dev) command -v dpkg-buildpackage >/dev/null || echo "$extra" ;;
    man) command -v man >/dev/null || echo man-db ;;
    swift-*) command -v "$extra-server" >/dev/null || echo "$extra" ;;
    *) command -v "$extra" >/dev/null || echo "$extra" ;;
    esac
  done
  command -v gcc >/dev/null || command -v cc >/dev/null || echo gcc
  command -v meson >/dev/null || echo meson
  command -v ninja >/dev/null || echo ninja-build
  command -v pkg-config >/dev/null || echo pkg-config
  command -v sqlite3 >/dev/null || echo sqlite3
  command -v zstd >/dev/null || echo zstd
  [ -e /usr/include/stdio.h ] || echo libc6-dev
  # Of Debian's flavours of libcurl the one with OpenSSL: curl(1) and most hosts load that one already.
  for module in sqlite3:libsqlite3-dev libzstd:libzstd-dev libxxhash:libxxhash-dev libcurl:libcurl4-openssl-dev libcrypto:libssl-dev check:check; do
    pkg-config --exists "${module%%:*}" 2>/dev/null || echo "${module#*:}"
  done
}

# install_missing [package...]: those, too.
install_missing() {
  setup_packages=$(missing_packages "$@" | paste -sd ' ' -)
  [ -n "$setup_packages" ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "These Debian packages, or your system's likeness of them, are missing: $setup_packages" >&2
    echo "There is no apt-get here; install them by hand and run this again." >&2
    return 1
  fi
  setup_sudo=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Missing packages: $setup_packages" >&2
      echo "Installing them needs root and there is no sudo: run 'apt-get install $setup_packages' as root, then this again." >&2
      return 1
    fi
    setup_sudo=sudo
  fi
  echo "installing $setup_packages"
  setup_log=$(mktemp)
  # shellcheck disable=SC2086 # words are wanted
  if ! { $setup_sudo apt-get update && $setup_sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $setup_packages; } </dev/null >"$setup_log" 2>&1; then
    cat "$setup_log" >&2
    echo "apt-get could not install: $setup_packages" >&2
    rm -f "$setup_log"
    return 1
  fi
  rm -f "$setup_log"
}

# build_into FOLDER [meson option...]: sets the folder up unless it is, and builds. Quiet unless it fails. A folder that was
# set up for another checkout (it was copied here along with the sources) is made anew.
build_into() {
  setup_build=$1
  shift
  if [ -e "$setup_build" ] && ! grep -qsF "\"source\": \"$root\"" "$setup_build/meson-info/meson-info.json"; then
    rm -rf "$setup_build"
  fi
  [ -e "$setup_build/build.ninja" ] || show_failure meson setup "$@" "$setup_build" "$root" || return
  show_failure ninja -C "$setup_build"
}

show_failure() {
  setup_log=$(mktemp)
  if "$@" </dev/null >"$setup_log" 2>&1; then
    rm -f "$setup_log"
    return 0
  fi
  cat "$setup_log" >&2
  echo "failed: $*" >&2
  rm -f "$setup_log"
  return 1
}
