// Package wire is bytes and connections: it accepts, checks, times and closes them around fasthttp.
// It knows no route, no link and no account; of our packages it imports only problem and turnstile.
// Package api gives it a handler and the limits of bodies, and gets the client's address from it.
//
// # Terminology
//
// Clients connect to the public address, the plain HTTP address of a server with HTTPS, the admin
// address and the socket of local commands. A Group is the listeners of one of these, with the HTTP
// server that they share. The gate refuses requests that could be read in two ways. The sweep
// checks every connection once a second; the health of a connection is the result, and Patience has
// the times that it may take. An idle connection is evicted when a new one needs its slot. A large
// body has more than MaxBodyBytes; it needs a place, and a slow one is cut when another waits. A
// Drain is the shutdown that groups share.
//
// # The path of a request
//
//	   socket
//	     │  listener.go   accept (retried on EMFILE), track, sweep; evict.go: slots and shares
//	     │  conn.go       note what moves, linger at the end; plainhttp.go: HTTP in place of TLS
//	   gate               what could be read in two ways → 400, 414, 431, 501, 503, 505
//	     │                (gate.go, head.go, chunk.go, grammar.go)
//	  fasthttp            parse; what it cannot read → 400, 408, 413, 431 (unread.go)
//	     │                how large the body may be (body.go, largebody.go); 100 Continue (interim.go)
//	Group.Handle
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
//   - targets with fragments, control or 8-bit bytes;
//   - no Host, two of them, or an invalid one;
//   - GET and HEAD with a body;
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
// So a client that sends or reads a byte now and then gains no time, and one that moves 128 kbit/s
// is never cut. This costs a redirect nothing: the gate knows when a head is not complete, and
// records progress only then, or in a body. Answers are counted in pieces of 32 KiB. The reset
// frees the kernel's copy of an answer that nobody reads.
//
// # Slots and shares
//
// A listener has a fixed number of slots, as many as there are file descriptors for, and each
// address may take a fixed number of them (evict.go). An IPv6 address counts as its /64; trusted
// proxies and this machine have no limit. When either number is used up, the connection that has
// been idle for longest is evicted. If none is idle, a new connection beyond the limit of its
// address is refused, and one beyond the slots of the listener waits in the backlog. The table of
// addresses has only those with connections. A connection serves 100,000 requests, so that the
// clients of a load balancer spread again.
//
// An idle connection costs 14 to 20 KiB (make slow). The sweep checks 10,000 connections in about 1
// ms.
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
// decrypted, so the rules of framing are the same. A client that speaks HTTP instead of TLS is told
// so in the clear, by a 400, and the connection is closed (plainhttp.go).
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
// the Drain ends. Package api decides how long clients have.
//
// # Concurrency
//
// The gate of a connection, and the state of interim responses in its Write, belong to the
// connection's goroutine. The sweep reads atomics. The list of connections and the table of
// addresses have the listener's lock. A Group's lock comes before those of its listeners.
package wire
