#!/bin/sh
# Lets the nodes of a cluster read and write their own keys in etcd, and nobody anything else:
#
#   cmd/deploy/cluster/etcd-auth.sh NODE ...                  # full nodes
#   EDGES="edge-1 edge-2" cmd/deploy/cluster/etcd-auth.sh     # edges, which write only what they say of themselves
#
# NODE is the name of a node, which is the CN of its certificate: etcd takes it for the user, without a
# password. PREFIX is where the cluster's log is, if not below /shunt/. A later call adds nodes. It needs
# etcdctl of version 3.4 or newer, and its settings (ETCDCTL_ENDPOINTS, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY) with the
# certificate of root, who alone may do everything from then on: UNIT=etcd certs.sh FOLDER root.
#
# Only root may compact, so the servers must do it by themselves: --auto-compaction-mode=periodic
# --auto-compaction-retention=10s.
set -eu
[ $# -ge 1 ] || [ -n "${EDGES:-}" ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=${PREFIX:-/shunt/}

has() { etcdctl "$1" get "$2" >/dev/null 2>&1; }

role() { # NAME KIND KEYS ...: a role that may do KIND with what is below KEYS
	name=$1 kind=$2; shift 2
	has role "$name" || etcdctl role add "$name"
	for keys; do etcdctl role grant-permission --prefix=true "$name" "$kind" "$keys"; done
}

user() { # NAME ROLE
	has user "$1" || etcdctl user add --no-password "$1"
	etcdctl user grant-role "$1" "$2"
}

role shunt readwrite "$prefix"
role shunt-edge read "$prefix"
role shunt-edge readwrite "${prefix}names/" "${prefix}nodes/"
for node; do user "$node" shunt; done
for edge in ${EDGES:-}; do user "$edge" shunt-edge; done
user root root
etcdctl auth enable
