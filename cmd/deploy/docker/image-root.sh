#!/bin/bash
# Builds the root of the image as the Dockerfile does, and runs it as a container would: in its own
# root, which is read-only, as user 65532 without rights, with processes and a network of its own.
# It needs root and curl, but no container engine.
#
# usage: image-root.sh FOLDER, which has the binary shunt; the root is made in FOLDER/root.
set -euo pipefail

if [ "${2-}" != inside ]; then
	root=$(realpath "$1")/root
	rm -rf "$root"
	mkdir -p "$root"/{etc/ssl/certs,data,proc}
	cp "$1/shunt" "$root/shunt"
	if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
		cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	fi
	chmod 755 "$root"
	chmod 700 "$root/data"
	chown 65532:65532 "$root/data"
	# When the first process in there ends, the kernel ends all others, and with them their mounts.
	exec unshare --mount --pid --net --fork --kill-child --mount-proc "$0" "$root" inside
fi

# From here on, the network and the processes are those of the container; its root is entered below.
root=$1
fail() {
	echo "image-root: FAILED: $*" >&2
	tail -n 20 "$root.log" >&2
	exit 1
}
image() {
	env -i SHUNT_DATA=/data SHUNT_LISTEN=:8080 SHUNT_BASE_URL=http://localhost:8080 \
		"$(command -v setpriv)" --no-new-privs \
		"$(command -v chroot)" --userspec=65532:65532 --groups= "$root" /shunt "$@"
}
serve() { image serve 2>"$root.log"; }

ip link set lo up
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
if touch "$root/written" 2>/dev/null; then fail "the root can be written"; fi

serve &
for _ in $(seq 100); do
	if image health >/dev/null 2>&1; then break; fi
	sleep 0.1
done
image health || fail "not healthy"
server=$(pgrep -x shunt)
[ "$(stat -c %u "/proc/$server")" = 65532 ] || fail "it runs as user $(stat -c %u "/proc/$server")"

token=$(image token add --name test) || fail "no token"
curl -sf -o /dev/null -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
	-d '{"url":"https://example.org/","alias":"a"}' http://127.0.0.1:8080/api/v1/shorten || fail "no link"
[ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/a)" = 302 ] || fail "no redirect"

kill -TERM "$server"
wait $! || fail "it ended with $?"
echo "image-root: all well"
