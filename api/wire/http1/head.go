package http1

import (
	"bytes"

	"shunt/api/problem"
)

// noLength is the length of a head without Content-Length, so far.
const noLength = -1

// A head is the state of the gate while a request line and header fields come. Comments in this
// file name sections of RFC 9112 unless they say otherwise.
type head struct {
	bytes  int  // of the lines so far
	fields int  // so far
	begun  bool // the request line has come
	blank  bool // an empty line has come before it

	minor   byte  // of the version: '0' or '1'
	isHEAD  bool  // the method is HEAD
	host    bool  // Host has come
	chunked bool  // so has Transfer-Encoding: chunked
	closes  bool  // so has Connection: close
	length  int64 // Content-Length
}

// read reads a line without its LF. It returns true for the empty line that ends the head.
func (h *head) read(g *Gate, line []byte) (last bool) {
	h.checkSize(g, len(line)+1)
	h.bytes += len(line) + 1
	if len(line) == 0 || line[len(line)-1] != '\r' {
		// 2.2 lets a server be lenient here, but others read such a line differently.
		g.Refuse(problem.BadRequest, "lines must end in CR LF")
		return false
	}
	line = line[:len(line)-1]
	switch {
	case len(line) > 0 && !h.begun:
		h.begun, h.length = true, noLength
		h.readRequestLine(g, line)
	case len(line) > 0:
		h.readField(g, line)
	case h.begun:
		return true
	case h.blank:
		g.Refuse(problem.BadRequest, "there must be at most one empty line before the request")
	default:
		h.blank = true // 2.2: ignore at least one, which old clients send after a body
	}
	return false
}

// checkSize refuses the head if it is too large with a further line of the given number of bytes.
func (h *head) checkSize(g *Gate, line int) {
	switch {
	case !h.begun && line > maxRequestLineBytes:
		g.Refuse(problem.URITooLong, "the request line is too long")
	case h.bytes+line > MaxHeaderBytes:
		g.Refuse(problem.HeadersTooLarge, "the header fields are too large")
	}
}

// readRequestLine reads method SP request-target SP HTTP-version (3).
func (h *head) readRequestLine(g *Gate, line []byte) {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	space := bytes.LastIndexByte(rest, ' ')
	switch {
	case !ok || space <= 0 || !isToken(method):
		g.Refuse(problem.BadRequest, "the request line must be a method, a target and a version, separated by single spaces")
		return
	case len(method) > maxMethodBytes:
		g.Refuse(problem.NotImplemented, "this method is not known")
		return
	}
	h.readVersion(g, rest[space+1:])
	h.isHEAD = string(method) == "HEAD"
	if g.Refused == nil {
		checkTarget(g, string(method), rest[:space])
	}
}

// readVersion reads HTTP/1.0 or HTTP/1.1 (2.3). Other minor versions do not exist, and a server may
// refuse versions that it does not support (RFC 9110, 15.6.6).
func (h *head) readVersion(g *Gate, version []byte) {
	const form = "HTTP/1."
	switch {
	case len(version) == 8 && string(version[:7]) == form && (version[7] == '0' || version[7] == '1'):
		h.minor = version[7]
	case len(version) == 8 && string(version[:5]) == form[:5] && isDigit(version[5]) &&
		version[6] == '.' && isDigit(version[7]):
		g.Refuse(problem.Version, "this server supports only HTTP/1.1 and HTTP/1.0")
	default:
		g.Refuse(problem.BadRequest, "the request line must end in a version of HTTP")
	}
}

// checkTarget accepts origin-form, absolute-form, and * with OPTIONS (3.2). CONNECT, and with it
// authority-form, is for proxies.
func checkTarget(g *Gate, method string, target []byte) {
	for _, c := range target {
		if bytesOf[c]&inTarget == 0 {
			g.Refuse(problem.BadRequest, "the target has a space or a control character, which must be percent-encoded")
			return
		}
	}
	switch {
	case method == "CONNECT":
		g.Refuse(problem.NotImplemented, "this server is not a proxy")
	case target[0] == '/', string(target) == "*" && method == "OPTIONS":
	case !absoluteForm(target):
		g.Refuse(problem.BadRequest, "the target must be a path, or an address with http or https")
	}
}

// absoluteForm reports whether target is http or https, a valid authority, and a path or query, if
// any.
func absoluteForm(target []byte) bool {
	scheme, rest, _ := bytes.Cut(target, []byte("://"))
	if !isWord(scheme, "http") && !isWord(scheme, "https") {
		return false
	}
	if end := bytes.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	return isHost(rest)
}

// readField reads field-name ":" OWS field-value OWS (5). fasthttp checks the bytes of values.
func (h *head) readField(g *Gate, line []byte) {
	if h.fields++; h.fields > maxFields {
		g.Refuse(problem.HeadersTooLarge, "there are too many header fields")
		return
	}
	colon := 0
	for colon < len(line) && bytesOf[line[colon]]&inToken != 0 {
		colon++
	}
	// Folded lines (5.2) and a space before the colon (5.1) end here, too.
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		g.Refuse(problem.BadRequest, "a header line must be a name, a colon and a value")
		return
	}
	switch name := line[:colon]; {
	case isWord(name, "host"):
		h.readHost(g, trimOWS(line[colon+1:]))
	case isWord(name, "connection"):
		h.closes = h.closes || hasMember(line[colon+1:], "close")
	case isWord(name, "content-length"):
		h.readLength(g, trimOWS(line[colon+1:]))
	case isWord(name, "transfer-encoding"):
		h.readCoding(g, trimOWS(line[colon+1:]))
	}
}

// readHost requires exactly one valid Host (3.2). An empty one belongs to targets without an
// authority, and http has no such targets (RFC 9110, 4.2.1).
func (h *head) readHost(g *Gate, value []byte) {
	if h.host || !isHost(value) {
		g.Refuse(problem.BadRequest, "there must be exactly one Host, and it must be valid")
	}
	h.host = true
}

// readLength requires digits, once. 6.3 lets a server accept repeated equal lengths, but a lenient
// proxy may read them differently.
func (h *head) readLength(g *Gate, value []byte) {
	if h.length != noLength || len(value) == 0 || len(value) > maxLengthDigits {
		g.Refuse(problem.BadRequest, "there must be at most one Content-Length, and it must be a number")
		return
	}
	h.length = 0
	for _, c := range value {
		if !isDigit(c) {
			g.Refuse(problem.BadRequest, "Content-Length must be a number")
			return
		}
		h.length = 10*h.length + int64(c-'0')
	}
	g.checkCountable(h.length)
}

// readCoding requires chunked, once. An unknown coding is 501 if chunked comes after it. Otherwise
// the end of the body is not known, which is 400 (6.1, 6.3).
func (h *head) readCoding(g *Gate, value []byte) {
	first, last := value, []byte(nil)
	if comma := bytes.LastIndexByte(value, ','); comma >= 0 {
		first, last = trimOWS(value[:comma]), trimOWS(value[comma+1:])
	}
	switch {
	case h.chunked:
		g.Refuse(problem.BadRequest, "there must be at most one Transfer-Encoding")
	case last == nil && isWord(first, "chunked"):
		h.chunked = true
	case isWord(last, "chunked") && isToken(first) && !isWord(first, "chunked"):
		g.Refuse(problem.NotImplemented, "this server supports no transfer coding but chunked")
	default:
		g.Refuse(problem.BadRequest, "the transfer coding must be chunked")
	}
}

// checkWhole checks the head as a whole.
func (h *head) checkWhole(g *Gate) {
	switch {
	case !h.host && h.minor == '1':
		g.Refuse(problem.BadRequest, "HTTP/1.1 needs a Host") // 3.2
	case h.chunked && h.minor == '0':
		g.Refuse(problem.BadRequest, "HTTP/1.0 must not have Transfer-Encoding") // 6.1
	case h.chunked && h.length != noLength:
		// 6.1, 11.2
		g.Refuse(problem.BadRequest, "Transfer-Encoding and Content-Length must not both be given")
	}
}
