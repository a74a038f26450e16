#!/bin/sh
# The Debian source package and the packages that it builds:  sh ext/packages/debian.sh OUT
# Lays the source out as OUT/tidemark-VERSION with debian/ at its top, and leaves OUT/*.dsc and OUT/*.deb. Needs the
# packages that ext/packages/debian/control names, and dpkg-dev; installs nothing.
set -eu

if [ $# -ne 1 ]; then
  sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
mkdir -p "$1"
out=$(CDPATH='' cd -- "$1" && pwd -P)

version=$(sed -n "s/^project(.*version: '\([^']*\)', license.*/\1/p" "$root/meson.build")
packaged=$(dpkg-parsechangelog -l "$root/ext/packages/debian/changelog" -S Version)
entry=$(dpkg-parsechangelog -l "$root/ext/packages/debian/changelog" -S Timestamp)
if [ "${packaged%-*}" != "$version" ]; then
  echo "meson.build has the version $version, ext/packages/debian/changelog $packaged: add an entry there" >&2
  exit 1
fi

tree=$out/tidemark-$version
rm -rf "$tree"
mkdir "$tree"
# The files of the release by name, so that build folders and a checkout's own files stay where they are.
tar -C "$root" --exclude=__pycache__ -cf - LICENSE README.md meson.build ext sql src tests | tar -C "$tree" -xf -
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$entry" -cJf \
  "$out/tidemark_$version.orig.tar.xz" "tidemark-$version"
cp -R "$root/ext/packages/debian" "$tree/debian"
cd "$tree"
dpkg-buildpackage -us -uc
