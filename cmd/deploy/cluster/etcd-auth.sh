#!/bin/sh
# Restricts the nodes of a cluster to their own keys in etcd:
#
#   cmd/deploy/cluster/etcd-auth.sh NODE ...                  # full nodes
#   EDGES="edge-1 edge-2" cmd/deploy/cluster/etcd-auth.sh     # edges: each writes its own two keys, and reads no accounts
#
# NODE is the name of a node, which is the CN of its certificate: etcd uses it as the user name, without a
# password. PREFIX is where the cluster's log is, if not below /shunt/. A later call adds nodes. It needs
# etcdctl of version 3.4 or newer, and its settings (ETCDCTL_ENDPOINTS, ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY) with
# the certificate of root, the only user who may do everything from then on: UNIT=etcd certs.sh FOLDER root.
#
# Only root may compact, so the servers must do it by themselves: --auto-compaction-mode=periodic
# --auto-compaction-retention=60s.
set -eu
[ $# -ge 1 ] || [ -n "${EDGES:-}" ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=${PREFIX:-/shunt/}
for name in "$@" ${EDGES:-}; do
	case $name in
	root) echo "etcd-auth.sh: no node can be named root: that is the user of etcd who may do everything" >&2; exit 2 ;;
	*[!a-z0-9-]* | -*) echo "etcd-auth.sh: the name of a node has only a-z, 0-9 and -, not $name" >&2; exit 2 ;;
	esac
done

has() { etcdctl "$1" get "$2" >/dev/null 2>&1; }

grant() { # ROLE PERMISSION ...
	role=$1; shift
	has role "$role" || etcdctl role add "$role"
	etcdctl role grant-permission "$role" "$@"
}

holds() { etcdctl user get "$1" 2>/dev/null | grep -Eq "^Roles:.* $2( |\$)"; } # USER ROLE

user() { # NAME ROLE
	has user "$1" || etcdctl user add --no-password "$1"
	etcdctl user grant-role "$1" "$2"
}

# What an edge reads is from floor to the end of nodes/. The rows of accounts are in private/, after that.
edge() { # NAME
	grant "shunt-edge-$1" read "${prefix}floor" "${prefix}nodes0"
	grant "shunt-edge-$1" readwrite "${prefix}names/$1"
	grant "shunt-edge-$1" readwrite "${prefix}nodes/$1"
	user "$1" "shunt-edge-$1"
	! holds "$1" shunt || etcdctl user revoke-role "$1" shunt
}

has role shunt || etcdctl role add shunt
etcdctl role grant-permission --prefix=true shunt readwrite "$prefix"
for node; do
	user "$node" shunt
	! has role "shunt-edge-$node" || etcdctl role delete "shunt-edge-$node"
done
for edge in ${EDGES:-}; do edge "$edge"; done
# Before, all edges shared one role, which could write the rows of all nodes and read accounts. Each edge that has it
# gets a role of its own.
if has role shunt-edge; then
	for name in $(etcdctl user list); do ! holds "$name" shunt-edge || edge "$name"; done
	etcdctl role delete shunt-edge
fi
has user root || etcdctl user add --no-password root
etcdctl user grant-role root root
etcdctl auth enable
