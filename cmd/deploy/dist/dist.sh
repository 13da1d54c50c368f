#!/bin/bash
# Makes a release: static binaries, packages for Debian and for RPM, tarballs, lists of parts, and
# checksums. The same commit gives the same bytes in any folder: times are that of the commit, names
# of machines and paths are left out. It needs Go and the tools of GNU.
#
# usage: dist.sh [--root FOLDER] [--out FOLDER] [--version VERSION] [--only OS/ARCH]
#   --root     folder of the project (.)
#   --out      folder for the release, made if it is missing (dist)
#   --version  default: of the tag, or 0.0.0 and the commit
#   --only     make the files of one system only, such as linux/amd64
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd) root=. out=dist version='' only=''
fail() { echo "dist: $*" >&2; exit "${code:-1}"; }
while [ $# -gt 0 ]; do
	case $1 in
	--root | --out | --version | --only) declare "${1#--}=${2?$1 needs a value}"; shift 2 ;;
	*) code=2 fail "unexpected argument $1" ;;
	esac
done
case $only in '' | linux/amd64 | linux/arm64 | darwin/amd64 | darwin/arm64) ;; *) fail "there is no target $only" ;; esac
root=$(realpath "$root") out=$(realpath -m "$out")
if [ -n "$(ls -A "$out" 2>/dev/null)" ] && [ ! -e "$out/SHA256SUMS" ]; then
	fail "$out has files, but no SHA256SUMS: it is no release, so it is not replaced"
fi
cd "$root"

# The version of the tag at the commit. Between tags, it is before every release, with the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
: "${version:=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null ||
	echo "0.0.0~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).g$(git rev-parse --short=12 HEAD)")}"
VERSION=${version#v}

# The folder appears in its place when it is complete.
mkdir -p "$(dirname "$out")"
WORK=$(mktemp -d "$(dirname "$out")/.dist-XXXXXX")
trap 'rm -rf "$WORK"' EXIT
export SOURCE_DATE_EPOCH VERSION WORK
release=$WORK/release
mkdir "$release" "$WORK/man" "$WORK/completions"
go build -C "$tools" -o "$WORK/" . github.com/goreleaser/nfpm/v2/cmd/nfpm

# Paths and the state of the repository are left out, because they would differ between two folders.
build() { # build OS ARCH OUTPUT
	CGO_ENABLED=0 GOOS=$1 GOARCH=$2 GOFLAGS='' GOAMD64=v1 GOARM64=v8.0 go build -trimpath -buildvcs=false \
		-ldflags "-s -w -buildid= -X shunt/cmd/shunt/version.number=$VERSION" -o "$3" ./cmd/shunt
}

echo "man pages, completions"
SHUNTTEST_MANUAL=$WORK/man go test -count=1 -ldflags "-X shunt/cmd/shunt/version.number=$VERSION" \
	-run '^TestEveryCommandHasAManPage$' ./cmd/shunt >"$WORK/manual.log" || { cat "$WORK/manual.log" >&2; exit 1; }
gzip -9n "$WORK"/man/*
build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$WORK/host-shunt"
for shell in bash zsh fish; do "$WORK/host-shunt" completion $shell >"$WORK/completions/shunt.$shell"; done

for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do # darwin: for development
	[ -z "$only" ] || [ "$only" = "$target" ] || continue
	os=${target%/*} ARCH=${target#*/}
	name=shunt-$VERSION-$os-$ARCH
	echo "$target: binary, list of parts, tarball"
	tree=$WORK/tree/$name
	mkdir -p "$tree"
	build "$os" "$ARCH" "$tree/shunt"
	"$WORK/dist" "$tree/shunt" "$VERSION" "$SOURCE_DATE_EPOCH" >"$release/$name.cdx.json"
	cp -R LICENSE README.md CHANGELOG.md UPGRADE.md "$WORK/man" "$WORK/completions" "$tree"
	chmod -R u=rwX,go=rX "$tree"
	tar -C "$WORK/tree" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
		gzip -9n >"$release/$name.tar.gz"
	[ "$os" = linux ] || continue
	echo "$target: packages"
	export ARCH BINARY=$tree/shunt
	for format in deb rpm; do "$WORK/nfpm" package --config "$tools/nfpm.yml" --packager $format --target "$release" >/dev/null; done
done
(cd "$release" && LC_ALL=C sha256sum -- * >../SHA256SUMS)
mv "$WORK/SHA256SUMS" "$release"
rm -rf "$out"
mv "$release" "$out"
