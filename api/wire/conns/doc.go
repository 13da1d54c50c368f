// Package conns is what a listener knows of its connections, whoever owns them, a loop or fasthttp: a table with a row
// for each, how many there may be and from whom, how long they may take, and the orders by which others end those that
// a loop owns. It reads no request, and the owners do all that concerns the bytes. Of our packages it imports only
// turnstile and http1 (the trusted proxies, and the place of a large body).
//
// # Time
//
// fasthttp's ReadTimeout and IdleTimeout cost 0.66 µs of the 5 µs of a request, so they are off. A
// connection records with one atomic store when it became busy or idle, by a clock that ticks once
// a second. The sweep (sweep.go) checks all connections once a second and ends those that take too
// long:
//
//	head         10 s from its first byte, or from the beginning of the connection    408
//	request      30 s from its first byte to the last of its answer,                  408 while it is read, then reset
//	             and 1 s for every 16 KiB of a body or a large answer that move
//	between      75 s                                                                 closed
//
// So a client that sends or reads a byte now and then gains no time, and one that moves 128 kbit/s is
// never cut off. This costs a redirect nothing: the gate knows when a head is not complete, and
// records progress only then, or in a body. Answers are counted in pieces of 32 KiB. The reset
// frees the kernel's copy of an answer that nobody reads.
//
// # Slots and shares
//
// A listener has a fixed number of slots, as many as there are file descriptors for, and each
// address may take a fixed number of them (evict.go). An IPv6 address counts as its /64; trusted
// proxies and this machine have no limit. When either number is used up, the connection that has
// been idle for longest is evicted. If slots run out, connections whose first head has not ended go
// first (heads.go): the oldest of the /48 or /24 with most of them. The fewer slots are free, the less
// time they have. They may use an eighth of the slots at most, so they never take a slot from clients that were
// answered. A network may have as many of them as four addresses may have connections. If none is idle, a new
// connection beyond the limit of its address is refused, and one beyond the slots of the listener waits in the backlog.
// The table of addresses has only those with connections. A connection serves 100,000 requests, so that the
// clients of a load balancer spread again.
//
// An idle connection costs its row in a loop, and 14 to 20 KiB with fasthttp (make slow), beside what
// the kernel needs. The sweep checks 10,000 connections in about 1 ms.
//
// # Concurrency
//
// The owner of a row writes what is the owner's. The sweep reads atomics. The table of rows, apart from what their
// owners write, and the table of addresses have the table's lock, which comes before the inbox of a loop. A group's
// lock comes before its listeners', and a listener's before that inbox.
//
// Files, leaves first: served.go, limits.go, networks.go, rows.go, orders.go, table.go, evict.go, heads.go, sweep.go,
// join.go, accept.go.
package conns
