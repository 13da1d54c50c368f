// Package wire is bytes and connections: it accepts, checks, times and closes them, and answers the
// plainest requests without fasthttp, which serves everything else. It knows no route, no link and no
// account; of our packages it imports only problem and turnstile. Package api gives it the handlers
// and the limits of bodies, and gets the client's address from it.
//
// # Terminology
//
// Clients connect to the public address, the plain HTTP address of a server with HTTPS, the admin
// address and the socket of local commands. A Group is the listeners of one of these, with the HTTP
// server that they share. A plain request is a GET or HEAD of one path segment with nothing unusual
// in it. Two doors answer plain requests: the loops, which own connections, and the lane of a
// connection that fasthttp owns. A loop hands a connection over to fasthttp when it sends anything
// else. The gate refuses requests that could be read in two ways. A row of a listener's table
// describes one connection, whether a loop or fasthttp owns it. The sweep checks every connection once a second, while there are any;
// the health of a connection is the result, and Patience has the times that it may take. An idle
// connection is evicted when a new one needs its slot. A large
// body has more than MaxBodyBytes; it needs a place, and a slow one is cut when another waits. A
// Drain is the shutdown that groups share.
//
// # The path of a request
//
//	   socket
//	     │ accept4                      │ Accept: TLS, in memory, other systems, --front fasthttp
//	   loop    loop_linux.go            │
//	     │  plain: Group.Plain ─▶ answer
//	     │  else: hand over             │
//	     ▼                              ▼
//	  listener.go, conn.go     track, sweep; slots and shares; note what moves, linger at the end
//	     │
//	   lane                    lane.go: plain at the beginning of a message: Group.Plain ─▶ answer
//	     │
//	   gate                    what could be read in two ways → 400, 414, 431, 501, 503, 505
//	     │                     (gate.go, head.go, chunk.go, grammar.go)
//	  fasthttp                 parse; what it cannot read → 400, 408, 413, 431 (unread.go)
//	     │                     how large the body may be (body.go, largebody.go); 100 Continue
//	Group.Handle
//
// # Plain requests
//
// The Reader (plainread.go) reads a whole head in one pass, by the gate's classes of bytes and its
// limits. It accepts a subset of what the gate and fasthttp accept, and any doubt goes to them with
// the same bytes, so every refusal stays theirs. FuzzPlainIsWhatGateAndFasthttpRead holds it to that. It takes 36 to 60 ns for
// a request of wrk or curl, 180 to 230 ns for one of a browser; the gate alone takes as long
// (BenchmarkPlain), and fasthttp parses after it.
//
// A client that sends several requests at once sends the same fields with each. ReadNext compares
// them with those of the request before in place of reading them, and the handler keeps in Plain.Memo
// which visitor it is: the hashes and look-ups cost more than the reading. A pipelined request went
// from 0.94 to 0.69 µs. Neither outlives one read, so both are as recent as the requests, and the bytes
// that they are compared with are still there.
//
// Group.Plain appends the whole answer; nothing is counted before it is certain. Answers are equal to
// fasthttp's byte for byte, but for the second in Date: FuzzDoors compares answers, counts and the
// state of the connection over loops, lane and fasthttp.
//
// # The loops
//
// A redirect by fasthttp alone costs ten times what deciding it costs: two thirds are system calls,
// the rest is a goroutine that is parked and woken, a second read that finds nothing, and a second
// parser. On Linux, a loop for each core owns the connections of a listener from accept on
// (loop_linux.go). It waits for all of them with epoll, reads once for each event, and answers
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
//     and answers that the client does not read are kept besides (looprest_linux.go); a loop reads
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
// (looporders_linux.go): the sweep, evictions, shutdown, loops that give a connection away. Orders and
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
// # The lane
//
// A connection that fasthttp owns answers plain requests in its Read, between two messages
// (lane.go). That keeps the order of answers: fasthttp has sent its own before it reads a message.
// fasthttp's Shutdown may take such a connection for idle, so Close waits for the lane.
//
// # The gate
//
// The gate is between socket and fasthttp, in the connection's Read. It reads each message strictly
// by the grammar of RFC 9112. It refuses everything that a proxy before us could read differently,
// so that both always agree where a request ends:
//
//   - Transfer-Encoding with Content-Length, in HTTP/1.0, or anything but a single chunked;
//   - lengths that occur twice or are not digits;
//   - chunk sizes, extensions and trailers that are not well-formed;
//   - lines that do not end in CR LF, folded lines, names with white space;
//   - targets with control characters or spaces;
//   - no Host, two of them, or an invalid one;
//   - versions other than 1.0 and 1.1.
//
// fasthttp 1.74 accepts most of that: a lone LF, folding, "identity", spaces in names, extensions
// without end, 4,000 fields. It also puts trailer fields among the header fields, where a client of
// a trusted proxy could name an address of its choice. So the gate checks extensions and trailers
// and drops them.
//
// A refused request is answered once (400, 413, 414, 431; 501 for codings, CONNECT and very long
// methods; 505), the connection is closed, and nothing after the request is read. Nothing is read
// after Connection: close either, however it is spelled. The rows of api/wiretest test this request
// by request. FuzzRequestHead checks that net/http reads the same requests from the bytes that get
// through.
//
// The gate costs a request of the load benchmark 60 to 90 ns of about 20 µs, a browser's request
// some 270 ns, and no allocation (BenchmarkGate): IndexByte finds the lines, names are read once,
// values are left to fasthttp, and a head that comes in one piece is not copied. In return, the
// handler need not check the framing. Rejected: to check RawHeaders in the handler, because they
// contain neither the end of the request line nor chunks; a deadline or a proxy of our own.
//
// An interim response is sent only to a request with a body (interim.go): another client would
// take it for the answer.
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
// answered. A network may have as many of them as four addresses may have connections. If none is idle, a new connection beyond the limit of its
// address is refused, and one beyond the slots of the listener waits in the backlog. The table of
// addresses has only those with connections. A connection serves 100,000 requests, so that the
// clients of a load balancer spread again.
//
// An idle connection costs its row in a loop, and 14 to 20 KiB with fasthttp (make slow), beside what
// the kernel needs. The sweep checks 10,000 connections in about 1 ms.
//
// # Large bodies
//
// fasthttp reads a body whole before the handler runs. A body may have 64 KiB, or more where
// Group.MaxBody says so. At most 32 larger bodies of a listener arrive at once, at most 8 from one
// sender. 64 others wait for 10 s at most; meanwhile a body that moves less than 256 KiB a second
// loses its place with 408 (largebody.go). The place is taken when the head has been read, because
// the head says whose the body is.
//
// # HTTPS
//
// Serve takes a TLS listener. The handshake happens on the connection's goroutine, when fasthttp
// first uses the connection. Until its first request a connection counts as one that is in a head,
// so the sweep ends a handshake after 10 s, even if bytes still come. The gate reads what TLS has
// decrypted, so the rules of framing are the same. A client that speaks HTTP instead of TLS gets a
// 400 in clear text, and the connection is closed (plainhttp.go).
//
// # The client's address
//
// The client's address is that of the other end of the socket, unless that is a trusted proxy. Then
// it is the rightmost hop of one header that is not a trusted proxy itself. A hop that is not an
// address ends the search; the result is then the hop to its right, for which a trusted proxy
// vouched. A peer without an IP address (a Unix socket) is this machine (clientaddr.go).
//
// # Shutdown
//
// When a Drain has begun, groups accept no new listener. CloseListeners closes the existing ones;
// CloseSilent cuts connections that have never sent a byte, because fasthttp takes them for busy;
// Shutdown closes idle connections and waits for the requests under way. The sweep goes on until
// the Drain ends. Package api decides how long clients have. Before its socket is closed, a loop
// accepts what waits there. Shutdown makes loops close idle connections and hand over the beginnings
// of heads; then it waits for the answers that clients have not read.
//
// # Concurrency
//
// The gate of a connection, and the state of interim responses in its Write, belong to the
// connection's goroutine. What a loop knows of its connections belongs to the loop's goroutine. The
// sweep reads atomics. The table of rows, apart from what their owners write, and the table of
// addresses have the listener's lock, which comes before the inbox of a loop. A Group's lock comes
// before those of its listeners.
//
// Files, leaves first: body.go, rows.go, precedence_linux.go, plainwords.go, plain.go, latency.go, clientaddr.go,
// date.go, defer_linux.go, epoll_linux.go, loops.go, gate.go, grammar.go, chunk.go, handed_linux.go, head.go,
// listener.go, evict.go, heads.go, conn.go, interim.go, plainhttp.go, plainnames.go, plainread.go, largebody.go,
// sweep.go, group.go, answers.go, loop_linux.go, looprest_linux.go, looplife_linux.go, loopaccept_linux.go,
// newloops_linux.go, lane.go, unread.go, looporders_linux.go.
package wire
