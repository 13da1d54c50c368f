// Package loop is the event loops, which own connections on Linux from accept on and answer plain requests. It knows no
// fasthttp: a connection that sends anything else is handed over (Use.TakeOver). Answers is what the loops share with
// the lane of package wire: it answers all plain requests that have come in one write. Of our packages it imports only
// http1 and conns.
//
// # The loops
//
// A redirect by fasthttp alone costs ten times what deciding it costs: two thirds are system calls,
// the rest is a goroutine that is parked and woken, a second read that finds nothing, and a second
// parser. On Linux, a loop for each core owns the connections of a listener from accept on
// (loop_linux.go, life_linux.go). It waits for all of them with epoll, reads once for each event, and answers
// everything that has come in one write. What decided its form:
//
//   - System calls that never block are raw, so the runtime does not take part in them. Only a long wait
//     is known to it. After many events a loop looks for others before it waits.
//   - The clock is read once for each wake-up. A loop yields every 8 ms, so that other goroutines get
//     their turn. Without that, the runtime's monitor woke up 2,000 times a second at 30,000 redirects/s,
//     instead of 100, and a redirect cost a quarter more.
//   - A loop keeps its thread, and the thread has precedence over the others on its core while it does
//     not keep the core busy (precedence_linux.go): nice -19 and a time slice of 0.1 ms. p99 at 30,000 redirects/s
//     on one core went from 0.41 ms, with the slice alone, to 0.06 to 0.07. All other threads have slices of
//     0.2 ms, so that the thread that a yield needs is not kept waiting by a flush. A thread that has waited
//     while the loop ran still goes first for as long again, so p99 is longer beside creates (figures in
//     bench/RESULTS.md). Neither other priorities and slices changed that, nor SCHED_BATCH for all other
//     threads, which made it ten times as long. Rejected: lower priorities for the background, because it then
//     holds locks of the runtime for long.
//   - Rejected: real-time threads (SCHED_FIFO). They took that wait away, but the runtime may make a loop spin
//     until another thread of its core has run, which then cannot run. To bound that took a timer with a signal
//     handler that the runtime does not know of, cpu.max no longer limited the process, and the longest answers
//     got longer.
//   - A new connection is read from at once, because its request has usually come. With Connection:
//     close, epoll never hears of it. NODELAY and the size of the send buffer are the listening
//     socket's.
//   - A connection is a row of 64 bytes, not a goroutine with buffers. A head that is not complete
//     and answers that the client does not read are kept besides (rest_linux.go); a loop reads
//     nothing more from a client that does not read. That is at most 43 KiB for a client, and 384 MiB
//     for all. The kernel keeps 128 KiB more for each, not the 4 MiB that it would.
//   - A head in more than 8 pieces goes to fasthttp, because a loop reads it from its beginning for
//     each piece.
//   - The loops share one listening socket, so a second server on its address fails, closing it
//     resets no connection that waits elsewhere, and one socket is enough if another process has opened it.
//     SO_REUSEPORT would break all three. Each loop accepts; EPOLLEXCLUSIVE wakes one of those that
//     wait. A connection that a loop would keep goes to the loop with the fewest if it has an
//     eighth and 4 more (register). So 500 connections are spread evenly.
//   - A loop must have a P when it wakes up. With as many Ps as cores it waits up to 10 ms for one
//     that runs a flush or the garbage collector. So serve has at least twice as many and a spare one,
//     and the kernel preempts for the loop.
//   - Handing over uses the same descriptor (handed_linux.go), because there may be no other.
//
// Whatever concerns a connection is done by its owner. Others give orders to the loop
// (orders_linux.go): the sweep, evictions, shutdown, loops that give a connection away. Orders and
// new connections come last in a wake-up, so that an event is never taken for that of a newer
// connection in the same row. The 408 of a slow head, the order of evictions and all limits are those
// of fasthttp's connections, from the same functions.
//
// A panic loses the answer under way: the client gets the answers before it and a 500. When the server
// ends a connection of its own accord, by loop, lane or handler, it discards for a second what still
// comes: closing at once would reset the connection, and the client could lose answers.
//
// Attacks: make floods (30,000 connections that trickle, read nothing, or come and go), the tests
// loop_…_linux_test.go, of which TestNothingIsLeftAfterAnyHistoryOfConnections runs for
// SHUNTTEST_CHAOS seconds.
//
// Files, leaves first: precedence_linux.go, epoll_linux.go, handed_linux.go, latency.go, answers.go, loop_linux.go,
// rest_linux.go, loops.go, life_linux.go, accept_linux.go, orders_linux.go, new_linux.go, run_linux.go.
package loop
