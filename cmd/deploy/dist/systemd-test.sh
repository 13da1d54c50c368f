#!/bin/bash
# Installs the Debian package in a fresh Debian with a systemd of its own, and uses it as an operator
# does: starts, restarts under requests, a crash, a reload, a backup by the timer's unit, an upgrade,
# settings that are wrong, removal. That systemd runs in namespaces, so nothing of this machine is
# touched, and it ends with this script.
#
# usage: systemd-test.sh FOLDER, with two packages in it: old.deb and new.deb. Needs root. With a
# second argument, a command, that is run in there instead of the test, such as bash.
set -euo pipefail

step() { echo "systemd-test: $*"; }
fail() { inside journalctl --no-pager -n 30 >&2 || true; echo "systemd-test: FAILED: $*" >&2; exit 1; }
expect() { # expect WHAT WANTED GOT
	[ "$3" = "$2" ] || fail "$1: '$3' instead of '$2'"
}

# boot is the first process in the namespaces; $1 is the root. Only the root is left of the mounts,
# because a process in a mere chroot may not make user namespaces (PrivateUsers=).
boot() {
	root=$1
	mount --make-rprivate /
	mount --bind "$root" "$root"
	cd "$root"
	mount -t proc proc proc
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t tmpfs -o mode=755 tmpfs dev
	for name in null zero full random urandom tty; do
		touch "dev/$name"
		mount --bind "/dev/$name" "dev/$name"
	done
	mkdir -p dev/shm dev/pts
	mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	mount -t tmpfs -o size=512m tmpfs dev/shm
	mount -t tmpfs tmpfs run
	mount -t tmpfs tmpfs tmp
	mkdir -p old-root
	pivot_root . old-root
	cd /
	umount -l /old-root
	ip link set lo up
	exec env -i container=shunt-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=no
}

if [ "${1-}" = boot ]; then
	boot "$2"
fi

packages=$(realpath "$1")
shift
root=$(mktemp -d /var/tmp/shunt-systemd-test.XXXXXX)
chmod 755 "$root"
group=/sys/fs/cgroup
[ ! -d $group/unified ] || group=$group/unified
group=$group/shunt-systemd-test-$$
leave() {
	status=$?
	if [ -n "${systemd-}" ]; then
		kill -KILL "$systemd" 2>/dev/null || true
		wait "$waiter" 2>/dev/null || true
	fi
	find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
	rm -rf --one-file-system "$root"
	exit $status
}
trap leave EXIT

step "a fresh Debian with systemd …"
debootstrap --variant=minbase --include=curl,iproute2,logrotate,systemd,systemd-sysv,dbus "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$packages/debootstrap.log" 2>&1 ||
	{ tail -n 20 "$packages/debootstrap.log" >&2; exit 1; }
cp "$packages"/old.deb "$packages"/new.deb "$root/"
cp "$0" "$root/systemd-test.sh"
mkdir -p "$group"
# A cgroup of its own, which is the top one inside.
(echo "$BASHPID" >"$group/cgroup.procs" && exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash "$0" boot "$root") 2>"$packages/boot.log" &
waiter=$!
for _ in $(seq 100); do
	sleep 0.1
	systemd=$(pgrep -P "$waiter" || true)
	[ -z "$systemd" ] || break
done
[ -n "$systemd" ] || { cat "$packages/boot.log" >&2; echo "systemd-test: FAILED: no namespaces" >&2; exit 1; }
inside() { nsenter --target "$systemd" --mount --pid --net --uts --ipc --cgroup --root --wdns=/ env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
for _ in $(seq 300); do
	sleep 0.1
	state=$(inside systemctl is-system-running 2>/dev/null || true)
	case $state in running | degraded) break ;; esac
done
case $state in running | degraded) ;; *) fail "systemd is '$state' after 30 s" ;; esac

if [ $# -gt 0 ]; then
	inside "$@"
	exit
fi
as_shunt() { inside runuser -u shunt -- "$@" --config /etc/shunt/shunt.toml; }
status() { inside curl -s -o /dev/null -w '%{http_code}' "$@"; }
main_pid() { inside systemctl show shunt -p MainPID --value; }

# ask asks for the link by new connections until told to stop, 20 times a second, and prints one
# line for each answer.
ask() {
	inside bash -c 'while [ ! -e /tmp/enough ]; do curl -s -o /dev/null -w "%{http_code} %{time_total}\n" http://127.0.0.1:8080/kept; sleep 0.05; done; rm /tmp/enough'
}
# while_asked runs a command while clients ask, and fails unless each was redirected.
while_asked() { # while_asked WHAT COMMAND…
	local what=$1
	shift
	ask >"$packages/answers" &
	local asker=$!
	sleep 0.5
	"$@"
	sleep 1
	inside touch /tmp/enough
	wait "$asker"
	expect "answers during $what" "" "$(grep -v '^302 ' "$packages/answers" | sort | uniq -c)"
	step "$what: $(wc -l <"$packages/answers") new connections, each redirected; the longest wait $(sort -k2 -n "$packages/answers" | tail -n 1 | cut -d' ' -f2) s"
}
restart_often() { for _ in 1 2 3 4 5 6; do inside systemctl restart shunt; done; }
crash_often() {
	for _ in 1 2 3 4 5 6; do
		inside systemctl kill --signal=KILL shunt
		sleep 3
	done
}

step "install"
inside dpkg -i /old.deb >/dev/null 2>"$packages/said" || fail "dpkg: $(cat "$packages/said")"
for unit in shunt.socket shunt.service; do
	expect "$unit" "active enabled" "$(inside systemctl is-active $unit) $(inside systemctl is-enabled $unit)"
done
expect "folder" "700 shunt" "$(inside stat -c '%a %U' /var/lib/shunt)"
expect "owner of the process" shunt "$(inside stat -c %U "/proc/$(main_pid)")"
sleep 2 # the status is set once a second
case $(inside systemctl show shunt -p StatusText --value) in ready*) ;; *) fail "its status is $(inside systemctl show shunt -p StatusText --value)" ;; esac
expect "health" ready "$(as_shunt shunt health)"

step "use"
inside bash -c 'runuser -u shunt -- shunt add https://example.org/a --alias kept --config /etc/shunt/shunt.toml' >/dev/null || fail "no link was made"
expect "redirect" 302 "$(status http://127.0.0.1:8080/kept)"
echo '# of the operator' >>"$root/etc/shunt/shunt.toml"
before=$(main_pid)
inside systemctl reload shunt || fail "reload"
expect "process after a reload" "$before" "$(main_pid)"
while_asked "6 restarts" restart_often
while_asked "6 kills" crash_often
expect "socket after the kills" active "$(inside systemctl is-active shunt.socket)"

step "backup"
inside systemctl start shunt-backup.service || fail "backup"
[ "$(ls "$root/var/lib/shunt/backups" | wc -l)" -ge 1 ] || fail "there is no backup"
inside systemctl enable --now shunt-backup.timer 2>/dev/null || fail "timer"
# A bucket that nobody serves: the unit reads its file, may use the network, and says what failed.
printf 'BACKUP_TO=s3://backups/shunt\nBACKUP_FLAGS=--keep 7\nSHUNT_S3_ENDPOINT=http://127.0.0.1:9\nAWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=b\n' >"$root/etc/shunt/backup-s3.env"
inside systemctl start shunt-backup-s3.service 2>/dev/null && fail "a backup to a bucket that nobody serves"
inside journalctl -u shunt-backup-s3 --no-pager | grep 'nothing listens on 127.0.0.1:9' >/dev/null || fail "the journal does not say that nobody serves the bucket"
inside systemctl enable --now shunt-backup-s3.timer 2>/dev/null || fail "timer of backups to a bucket"

step "upgrade"
upgrade() { inside dpkg -i /new.deb >/dev/null 2>"$packages/said" || fail "dpkg: $(cat "$packages/said")"; }
while_asked "the upgrade" upgrade
grep -q 'of the operator' "$root/etc/shunt/shunt.toml" || fail "the settings of the operator are gone"

step "settings that are wrong"
echo 'no-such-setting = 1' >>"$root/etc/shunt/shunt.toml"
inside systemctl restart shunt 2>/dev/null && fail "it starts with a setting that does not exist"
inside journalctl -u shunt --no-pager | grep no-such-setting >/dev/null || fail "the journal does not name the setting"
sed -i '/no-such-setting/d' "$root/etc/shunt/shunt.toml"
expect "redirect once the setting is mended, without a command" 302 "$(status --max-time 20 http://127.0.0.1:8080/kept)"

step "stop"
inside systemctl stop shunt.socket shunt.service
expect "answer of what was stopped" 000 "$(status http://127.0.0.1:8080/kept || true)"
inside systemctl start shunt.socket shunt.service

step "remove"
inside dpkg -r shunt >/dev/null 2>"$packages/said" || fail "dpkg: $(cat "$packages/said")"
expect "answer of what was removed" 000 "$(status http://127.0.0.1:8080/kept || true)"
[ -d "$root/var/lib/shunt/data" ] || fail "the links are gone"
step "all well"
