// Package wire is bytes and connections: it accepts, checks, times and closes them, and answers the
// plainest requests without fasthttp, which serves everything else. It knows no route, no link and no
// account; beside its own rooms it imports only problem and turnstile. Package api gives it the handlers
// and the limits of bodies. Its rooms: http1 reads requests, conns is the table of connections and their limits, loop
// is the event loops. What is here is fasthttp's side, the lane, large bodies, and Group, which ties all together.
//
// # Terminology
//
// Clients connect to the public address, the plain HTTP address of a server with HTTPS, the admin
// address and the socket of local commands. A Group is the listeners of one of these, with the HTTP
// server that they share. A plain request is a GET or HEAD of one path segment with nothing unusual
// in it. Two doors answer plain requests: the loops, which own connections, and the lane of a
// connection that fasthttp owns. A loop hands a connection over to fasthttp when it sends anything
// else. The gate refuses requests that could be read in two ways. A row of a listener's table
// describes one connection, whether a loop or fasthttp owns it. The sweep checks every connection once a second, while
// there are any; the health of a connection is the result, and Patience has the times that it may take. An idle
// connection is evicted when a new one needs its slot. A large
// body has more than MaxBodyBytes; it needs a place, and a slow one is cut when another waits. A
// Drain is the shutdown that groups share.
//
// # The path of a request
//
//	   socket
//	     │ accept4                      │ Accept: TLS, in memory, other systems, --front fasthttp
//	   loop    loop/life_linux.go       │
//	     │  plain: Group.Plain ─▶ answer
//	     │  else: hand over             │
//	     ▼                              ▼
//	  conns, conn.go           track, sweep; slots and shares; note what moves, linger at the end
//	     │
//	   lane                    lane.go: plain at the beginning of a message: Group.Plain ─▶ answer
//	     │
//	   gate                    what could be read in two ways → 400, 414, 431, 501, 503, 505
//	     │                     (http1/gate.go)
//	  fasthttp                 parse; what it cannot read → 400, 408, 413, 431 (unread.go)
//	     │                     how large the body may be (body.go, largebody.go); 100 Continue
//	Group.Handle
//
// # Plain requests
//
// The Reader of http1 reads them, and the handler keeps in Plain.Memo which visitor it is.
// Group.Plain appends the whole answer; nothing is counted before it is certain. Answers are equal to
// fasthttp's byte for byte, but for the second in Date: FuzzDoorsRequests compares answers, counts and the
// state of the connection over loops, lane and fasthttp.
//
// # The loops
//
// On Linux, a loop for each core owns the connections of a listener from accept on (loop). One that sends anything but
// plain requests is handed over to fasthttp (listener.takeOver), with the same row of the table.
//
// # The lane
//
// A connection that fasthttp owns answers plain requests in its Read, between two messages
// (lane.go). That keeps the order of answers: fasthttp has sent its own before it reads a message.
// fasthttp's Shutdown may take such a connection for idle, so Close waits for the lane.
//
// # The gate
//
// The gate (http1) is between socket and fasthttp, in the connection's Read. A refused request is answered once (400,
// 413, 414, 431; 501 for codings, CONNECT and very long methods; 505), the connection is closed, and nothing after the
// request is read. The rows of api/wiretest test this request by request.
//
// An interim response is sent only to a request with a body (write.go): another client would
// take it for the answer.
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
// connection's goroutine. What a loop knows of its connections belongs to the loop's goroutine. A
// Group's lock comes before those of its tables (conns).
//
// Files, leaves first: conn.go, date.go, defer_linux.go, group.go, largebody.go, body.go, write.go, listener.go,
// lane.go, plainhttp.go, read.go, unread.go, serve.go.
package wire
