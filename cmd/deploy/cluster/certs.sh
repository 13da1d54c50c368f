#!/bin/sh
# Makes a certificate authority and a certificate for each node and each server of etcd, for mutual TLS:
#
#   cmd/deploy/cluster/certs.sh FOLDER NAME[=ADDRESS[,ADDRESS...]] ...
#
# NAME is the name of a node (--node-name) or of a server, and ADDRESS another name or IP address of it: the one in its
# settings, and, for a server of etcd, the one that its connections come from, which the other servers compare. Put
# UNIT=etcd before the command for etcd's servers, and UNIT=edge for edges: nodes tell them apart by the unit. Files
# that FOLDER already has stay, so a later call adds nodes; remove NAME.crt to renew one. Keep ca.key away from all of
# these machines: whoever has it can impersonate any node. The name of a certificate is also its owner's user name at
# etcd.
set -eu
umask 077
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1; shift
mkdir -p "$folder"; cd "$folder"
days=${DAYS:-825}
quiet() { said=$("$@" 2>&1) || { echo "certs.sh: $said" >&2; exit 1; }; }
if [ ! -e ca.key ]; then
	quiet openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 3650 -subj "/CN=shunt cluster" \
		-addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.crt
fi
for one; do
	name=${one%%=*} addresses=${one#*=} also=
	if [ "$name" = root ] && [ "${UNIT:-}" != etcd ]; then
		echo "certs.sh: no node can be named root: that is the user of etcd who may do everything (UNIT=etcd makes the certificate of who looks after etcd)" >&2
		exit 2
	fi
	[ -e "$name.crt" ] && continue
	for address in $(printf %s "$addresses" | tr , ' '); do
		case $address in
		*:*) also=$also,IP:$address ;;
		*[!0-9.]*) also=$also,DNS:$address ;;
		*) also=$also,IP:$address ;;
		esac
	done
	quiet openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "${UNIT:+/OU=$UNIT}/CN=$name" -keyout "$name.key" -out "$name.csr"
	printf 'subjectAltName=DNS:%s%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$name" "$also" >"$name.ext"
	quiet openssl x509 -req -sha256 -days "$days" -in "$name.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -extfile "$name.ext" -out "$name.crt"
	rm "$name.csr" "$name.ext"
done
chmod 644 ./*.crt
