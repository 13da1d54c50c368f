#!/bin/bash
# Installs the Debian package in a fresh Debian, uses it, upgrades it, removes and purges it. It runs
# in a root of its own (debootstrap), with processes and a network of its own, so nothing of this
# machine is touched. systemd does not run there: the package's start script does the work.
#
# usage: deb-test.sh FOLDER, with two packages in it: old.deb and new.deb. Needs root.
set -euo pipefail

packages=$(realpath "$1")
if [ "${2-}" != inside ]; then
	root=$(mktemp -d /var/tmp/shunt-deb-test.XXXXXX)
	trap 'rm -rf --one-file-system "$root"' EXIT
	chmod 755 "$root"
	echo "deb-test: a fresh Debian …"
	debootstrap --variant=minbase --include=curl,iproute2,logrotate "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$packages/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$packages/debootstrap.log" >&2; exit 1; }
	cp "$packages"/old.deb "$packages"/new.deb "$root/"
	cp "$0" "$root/deb-test.sh"
	# When the first process in there ends, the kernel ends all others, and with them their mounts.
	unshare --mount --pid --net --fork --kill-child chroot "$root" /bin/bash /deb-test.sh / inside
	exit
fi

mount -t proc proc /proc
ip link set lo up
# Without an init system, invoke-rc.d starts nothing unless a policy says that it may.
printf '#!/bin/sh\nexit 0\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive

step() { echo "deb-test: $*"; }
fail() { echo "deb-test: FAILED: $*" >&2; tail -n 20 /var/log/shunt.log >&2 || true; exit 1; }
as_shunt() { runuser -u shunt -- "$@" --config /etc/shunt/shunt.toml; }
expect() { # expect WHAT WANTED GOT
	[ "$3" = "$2" ] || fail "$1: '$3' instead of '$2'"
}
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

step "install"
dpkg -i /old.deb >/dev/null
expect "folder" "700 shunt" "$(stat -c '%a %U' /var/lib/shunt)"
expect "settings" "640 root:shunt" "$(stat -c '%a %U:%G' /etc/shunt/shunt.toml)"
expect "credentials of backups" "600 root:root" "$(stat -c '%a %U:%G' /etc/shunt/backup-s3.env)"
for unit in shunt.service shunt.socket shunt-backup.service shunt-backup.timer shunt-backup-s3.service shunt-backup-s3.timer; do
	[ -e "/usr/lib/systemd/system/$unit" ] || fail "no unit $unit"
done
expect "owner of the process" shunt "$(stat -c %U "/proc/$(cat /run/shunt.pid)")"
as_shunt shunt health || fail "not healthy after the installation"
man_page=$(dpkg -L shunt | grep -c '/usr/share/man/man1/shunt') && [ "$man_page" -gt 10 ] || fail "man pages: $man_page"

step "use"
token=$(as_shunt shunt token add --name test)
link=$(curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"url":"https://example.org/a","alias":"kept"}' http://127.0.0.1:8080/api/v1/shorten) || fail "no link was made"
expect "redirect" 302 "$(status http://127.0.0.1:8080/kept)"
expect "status of the service" 0 "$(/etc/init.d/shunt status >/dev/null && echo $?)"
echo '# of the operator' >>/etc/shunt/shunt.toml
/etc/init.d/shunt reload || fail "reload"

step "an access log, rotated"
sed -i 's|^#* *access-log *=.*|access-log = "/var/log/shunt/access.log"|' /etc/shunt/shunt.toml
/etc/init.d/shunt restart >/dev/null
expect "redirect" 302 "$(status http://127.0.0.1:8080/kept)"
sleep 2
grep -q '"kept"\|/kept' /var/log/shunt/access.log || fail "the access log has no line"
logrotate --force /etc/logrotate.d/shunt || fail "logrotate"
expect "redirect" 302 "$(status http://127.0.0.1:8080/kept)"
sleep 2
expect "lines after the rotation" "1 1" "$(grep -c kept /var/log/shunt/access.log.1) $(grep -c kept /var/log/shunt/access.log)"
expect "owner of the access log" "600 shunt" "$(stat -c '%a %U' /var/log/shunt/access.log)"

step "upgrade"
chown root:root /etc/shunt/shunt.toml
chmod 644 /etc/shunt/shunt.toml # as older packages installed it
dpkg -i /new.deb >/dev/null
expect "link after the upgrade" 302 "$(status http://127.0.0.1:8080/kept)"
expect "settings after the upgrade" "640 root:shunt" "$(stat -c '%a %U:%G' /etc/shunt/shunt.toml)"
grep -q 'of the operator' /etc/shunt/shunt.toml || fail "the settings of the operator are gone"
old=$(dpkg-deb -f /old.deb Version) new=$(dpkg-query -W -f '${Version}' shunt)
[ "$old" != "$new" ] || fail "the version is still $old"
hits=$(curl -sf -H "Authorization: Bearer $token" http://127.0.0.1:8080/api/v1/stats/kept) || fail "no figures"
expect "figures" '{"hits":4,"unique":1}' "$(tr -d ' \n' <<<"$hits")"

step "remove"
dpkg -r shunt >/dev/null
[ "$(status http://127.0.0.1:8080/kept || true)" = 000 ] || fail "the server still answers"
[ -d /var/lib/shunt/data ] || fail "the links are gone"
[ -e /etc/shunt/shunt.toml ] || fail "the settings are gone"

step "install again, with the links that were there"
dpkg -i /new.deb >/dev/null
expect "link after the new installation" 302 "$(status http://127.0.0.1:8080/kept)"

step "upgrade with settings that are wrong"
echo 'no-such-setting = 1' >>/etc/shunt/shunt.toml
dpkg -i --force-downgrade /old.deb >/tmp/said 2>&1 || fail "a wrong setting fails the installation: $(cat /tmp/said)"
grep -q 'did not start' /tmp/said && grep -q 'no-such-setting' /tmp/said || fail "the installation does not say what is wrong: $(cat /tmp/said)"
sed -i '/no-such-setting/d' /etc/shunt/shunt.toml
/etc/init.d/shunt start >/dev/null
expect "link after the setting was mended" 302 "$(status http://127.0.0.1:8080/kept)"

step "purge"
dpkg -P shunt | grep -q 'still in /var/lib/shunt' || fail "purge does not say where the links are"
[ ! -e /etc/shunt/shunt.toml ] || fail "the settings are still there"
[ -d /var/lib/shunt/data ] || fail "purge deleted the links"
step "all well"
