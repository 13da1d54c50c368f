// Package http1 reads requests of HTTP/1.x strictly: the gate, which refuses what could be read in two ways; the Reader
// of plain requests; and the client's address. It knows bytes, no connection, and no way to answer. Of our packages it
// imports only problem and turnstile (the places of large bodies, which a chunked body asks for when it turns out to be
// large).
//
// A plain request is a GET or HEAD of one path segment with nothing unusual in it. A head is the request line and the
// header fields.
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
// # Plain requests
//
// The Reader (plainread.go) reads a whole head in one pass, by the gate's classes of bytes and its
// limits. It accepts a subset of what the gate and fasthttp accept, and any doubt goes to them with
// the same bytes, so every refusal stays theirs. FuzzPlainIsWhatGateAndFasthttpRead holds it to that. It takes 36 to 60
// ns for a request of wrk or curl, 180 to 230 ns for one of a browser; the gate alone takes as long
// (BenchmarkPlain), and fasthttp parses after it.
//
// A client that sends several requests at once sends the same fields with each. ReadNext compares
// them with those of the request before in place of reading them, and the handler keeps in Plain.Memo
// which visitor it is: the hashes and look-ups cost more than the reading. A pipelined request went
// from 0.94 to 0.69 µs. Neither outlives one read, so both are as recent as the requests, and the bytes
// that they are compared with are still there.
//
// # The client's address
//
// The client's address is that of the other end of the socket, unless that is a trusted proxy. Then
// it is the rightmost hop of one header that is not a trusted proxy itself. A hop that is not an
// address ends the search; the result is then the hop to its right, for which a trusted proxy
// vouched. A peer without an IP address (a Unix socket) is this machine (clientaddr.go).
//
// By a header of another name such a proxy may say which host the client asked for. Its last value counts: a proxy that
// adds a value to a list adds it at the end, and what comes before may be the client's. So of two trusted proxies the
// nearer one must pass on what the other one says. The host comes before that of an absolute target and the Host field,
// which are those of the proxy's own request.
//
// Files, leaves first: plainwords.go, clientaddr.go, grammar.go, limits.go, head.go, place.go, gate.go, chunk.go,
// plain.go, plainnames.go, plainread.go.
package http1
