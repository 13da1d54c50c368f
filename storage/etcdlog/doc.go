// Package etcdlog keeps the log of a cluster, and the registry of its nodes, in etcd. clusterlog says
// what both are and why the protocol is right; here are the requests. It knows no store, and nothing of
// what entries mean.
//
// # Keys
//
// All are below a prefix, and one role in etcd that reads and writes it is enough for full nodes. An edge has a
// role of its own, which writes its own two keys (names/NAME and nodes/NAME) and reads from floor to the end of
// nodes/: not private/.
//
//	floor, format, head, id     written when the log is made; Append moves head, and Trim floor
//	from                        only of a renewed log: what epochs are higher by than revisions
//	key                         fingerprint of the visitor key
//	leader                      the candidate that leads, under a lease of 3 s
//	log/SEQUENCE                an entry; 16 hexadecimal digits
//	marks/NAME                  written when a node of that name was forgotten
//	names/NAME                  claim of a node, and its last announcement
//	nodes/NAME                  announcement of a live node, under a lease of 10 s
//	private/SEQUENCE            the private part of an entry that has one
//
// One range, from floor to log/, reads everything but entries and nodes.
//
// # Requests
//
// Each request goes to one server, which has a client of its own, and may take 700 ms. If it fails, the next
// server is asked (repeat). A client that knows all servers would choose by itself, and might stay with one
// that hangs. A watch only wakes a reader, which also polls every 500 ms.
//
// # Leases
//
// The leader renews its lease every 500 ms, at another server each time, and stops 500 ms before it can
// have ended. The lease is short, because nobody can write until that of a dead leader ends.
//
// A node renews a lease of 10 s every 2 s, so one of three servers may hang, and all of them may pause while
// they elect a leader of their own. The lease is long, because the log is trimmed past a node that seems dead.
//
// Files, leaves first: keys.go, options.go, server.go, leadership.go, identity.go, read.go, members.go, append.go,
// status.go, trim.go, watch.go, registry.go, follow.go, campaign.go, announce.go, gate.go.
package etcdlog
