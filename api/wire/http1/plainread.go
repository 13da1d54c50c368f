package http1

import (
	"math/bits"
	"net/netip"
	"strings"
)

// A Reader reads plain requests (see Plain): it alone decides what the two doors may answer themselves. It reads a head
// in one pass, by the gate's classes of bytes and its limits, and knows less than the gate does. Everything that it
// does not know is not plain: tabs, bytes beyond ASCII, a second Host, a Connection other than close and keep-alive,
// every field that says something about a body.
//
// A Reader is immutable. Any number of goroutines may use it at once.
type Reader struct {
	proxies *Proxies
	names   nameTable
	never   bool // the settings name a field that has a meaning of its own: nothing is plain
}

// NewReader returns a reader that finds clients, countries and hosts by p, and the fields with the names
// purposes (see Plain.Purposes). Nothing is plain if one of these names has other bytes than codes
// have, or is that of a field which the reader or fasthttp treats in a special way, such as Host or
// Cookie.
func NewReader(p *Proxies, purposes []string) *Reader {
	rd := &Reader{proxies: p}
	for _, name := range purposes {
		rd.addName(name, rulePurpose)
	}
	rd.addName(p.Header, ruleClient)
	rd.addName(p.CountryHeader, ruleCountry)
	rd.addName(p.HostHeader, ruleNamedHost)
	for rule, names := range ownRules {
		for _, name := range names {
			rd.names.add(name, rule)
		}
	}
	return rd
}

// addName adds a name of the settings, if it is not empty.
func (rd *Reader) addName(name string, rule rules) {
	if name == "" {
		return
	}
	if !allIn([]byte(name), inSegment) || hasOwnRule(name) || len(rd.names.rows) == maxNames {
		rd.never = true
		return
	}
	rd.names.add(name, rule)
}

// maxSegmentBytes is the length of the longest code.
const maxSegmentBytes = 64

// Results that are not positions in a head.
const (
	notPlain   = -1
	unfinished = -2 // all bytes may be the beginning of a plain request
)

// Read reads one request from the beginning of b. If n > 0, the request is plain and has n bytes; r
// has been set, except for NowMs. If n is 0 and more is set, b is the beginning of what may be a
// plain request. Otherwise it is another request or no request; that is reported as soon as the
// bytes show it. If n is 0, r has no meaning.
//
// Read allocates nothing, unless what must be an IP address is not one. It does not remember anything,
// so it reads a head that comes in pieces again from its beginning for each piece: at most 16 KiB,
// which takes 5 to 10 µs.
func (rd *Reader) Read(b []byte, peer netip.Addr, r *Plain) (n int, more bool) {
	r.fields = nil
	return rd.ReadNext(b, peer, r)
}

// ReadNext is Read, for a request of the peer that has sent the one in r, if both came at once: r
// still has the bytes of that one. Nearly always the client has put the same fields into both. Then
// all that was read of them stays in r, and so does Memo; comparing takes a tenth of reading them.
func (rd *Reader) ReadNext(b []byte, peer netip.Addr, r *Plain) (n int, more bool) {
	b = b[:min(len(b), MaxHeaderBytes)]
	at := readTarget(b, r)
	if repeats(b, at, r.fields) {
		r.Raw = b[:at+len(r.fields)]
		return len(r.Raw), false
	}
	return rd.readRest(b, at, peer, r)
}

// repeats reports whether b from at on begins with fields, those of the request before.
func repeats(b []byte, at int, fields []byte) bool {
	return at > 0 && len(fields) > 0 && at+len(versionForm) <= maxRequestLineBytes &&
		len(b)-at >= len(fields) && string(b[at:at+len(fields)]) == string(fields)
}

// readRest reads what follows the target, which ends at at.
func (rd *Reader) readRest(b []byte, at int, peer netip.Addr, r *Plain) (n int, more bool) {
	var f found
	end := at
	if at > 0 {
		end = readPlainVersion(b, at, &f)
	}
	if end > 0 {
		r.Host, r.UserAgent, r.Referrer, r.Purposes, r.Memo = nil, nil, nil, nil, [2]uint64{}
		end = rd.readFields(b, end, r, &f)
	}
	if end < 0 || rd.never || f.minor == '1' && f.rules&ruleHost == 0 {
		r.fields = nil
		return 0, end == unfinished && len(b) < MaxHeaderBytes && !rd.never
	}
	r.Raw, r.fields = b[:end], b[at:end]
	r.Closes = f.closes || f.minor == '0' // keep-alive in HTTP/1.0 is not plain
	if f.purposes > 0 {
		r.Purposes = b[f.purposes:end]
	}
	r.Peer, r.Client, r.Country = peer, peer, nil
	if f.rules&(ruleClient|ruleCountry|ruleNamedHost) != 0 && rd.proxies.Trust(peer) {
		rd.readForwarded(b, peer, r, &f)
	}
	return end, false
}

// readForwarded sets what the trusted peer says about the client, and the host that it asked for.
func (rd *Reader) readForwarded(b []byte, peer netip.Addr, r *Plain, f *found) {
	var lines [maxClientLines][]byte
	for i, s := range f.clients[:f.clientLines] {
		lines[i] = b[s.from:s.to]
	}
	r.Client = rd.proxies.rightmostClient(peer, lines[:f.clientLines])
	if f.rules&ruleCountry != 0 {
		r.Country = b[f.country.from:f.country.to]
	}
	if f.rules&ruleNamedHost != 0 {
		if host := hostIn(b[f.namedHost.from:f.namedHost.to]); host != nil {
			r.Host = host
		}
	}
}

// readTarget reads the method and the target at the beginning of b and returns where the target ends.
func readTarget(b []byte, r *Plain) (end int) {
	const get, head = "GET /", "HEAD /"
	from := 0
	switch {
	case len(b) >= len(get) && string(b[:len(get)]) == get:
		from, r.Head = len(get), false
	case len(b) >= len(head) && string(b[:len(head)]) == head:
		from, r.Head = len(head), true
	case strings.HasPrefix(get, viewString(b)), strings.HasPrefix(head, viewString(b)):
		return unfinished
	default:
		return notPlain
	}
	end = from
	for last := min(len(b), from+maxSegmentBytes+1); end < last && bytesOf[b[end]]&inSegment != 0; {
		end++
	}
	if end-from > maxSegmentBytes || end == from && end < len(b) {
		return notPlain
	}
	r.Segment, r.Query = b[from:end], nil
	if end < len(b) && b[end] == '/' {
		if end++; string(r.Segment) == "_" {
			return notPlain // the overview of the dashboard; as /_ it is a code
		}
	}
	if end < len(b) && b[end] == '?' {
		from = end + 1
		end = targetEnd(b, from)
		r.Query = b[from:end]
	}
	return end
}

// versionForm is what follows the target. Its last digit may also be 0.
const versionForm = " HTTP/1.1\r\n"

// readPlainVersion reads the end of a request line, from the space before the version on, and
// returns where the line ends.
func readPlainVersion(b []byte, at int, f *found) (end int) {
	end = at + len(versionForm)
	if end > maxRequestLineBytes {
		return notPlain
	}
	for i, c := range b[at:min(end, len(b))] {
		if c != versionForm[i] && (i != 8 || c != '0') {
			return notPlain
		}
	}
	if end > len(b) {
		return unfinished
	}
	f.minor = b[at+8]
	return end
}

// readFields reads the fields from at on and returns where the head ends. It looks for the ends of
// lines in 64 bytes at once, which also finds the bytes that no value may have.
func (rd *Reader) readFields(b []byte, line int, r *Plain, f *found) (end int) {
	fields := 0
	for block := line; block < len(b); block += 64 {
		m := notTextAt(b, block)
		if line > block {
			m &^= 1 // the LF of the last line of the block before
		}
		for m != 0 {
			at := block + bits.TrailingZeros64(m)
			m &= m - 1
			m &= m - 1 // the LF
			next := lineEnd(b, at)
			if next < 0 || at == line {
				return next
			}
			if fields++; fields > maxFields || !rd.readField(b, line, at, r, f) {
				return notPlain
			}
			line = next
		}
	}
	if line < len(b) && (fields == maxFields || !beginsField(b[line:])) {
		return notPlain
	}
	return unfinished
}

// readField reads the field line b[line:end], of text. It returns false if the request is not plain.
func (rd *Reader) readField(b []byte, line, end int, r *Plain, f *found) (plain bool) {
	first, second := wordAt(b, line), wordAt(b, line+8)
	size := nameBytes(first, second)
	if b[line+size] != ':' {
		size = nameEnd(b[line:end])
	}
	if size <= 0 {
		return false
	}
	t := &rd.names
	for i := t.first[slotOf(size, b[line])]; i != 0; i = t.rows[i-1].next {
		if row := &t.rows[i-1]; row.is(first, second, b[line:], size) {
			return row.rules.read(b, line, line+size+1, end, r, f)
		}
	}
	return true
}

// nameEnd returns the size of the name that line begins with, 0 if there is none.
func nameEnd(line []byte) (size int) {
	for size < len(line) && bytesOf[line[size]]&inToken != 0 {
		size++
	}
	if size == len(line) || line[size] != ':' {
		return 0
	}
	return size
}

// beginsField reports whether line, whose end has not come, may become a field.
func beginsField(line []byte) bool {
	for i, c := range line {
		if bytesOf[c]&inToken == 0 {
			return i > 0 && c == ':'
		}
	}
	return true
}

// lineEnd reads the end of a line at at and returns the position after it.
func lineEnd(b []byte, at int) int {
	switch {
	case b[at] != '\r':
		return notPlain
	case at+1 == len(b):
		return unfinished
	case b[at+1] != '\n':
		return notPlain
	}
	return at + 2
}
