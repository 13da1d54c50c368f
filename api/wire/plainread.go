package wire

import (
	"net/netip"
)

// A Reader reads plain requests (see Plain): it is both doors' only judge of what they may answer
// themselves. It reads a head in one pass, by the gate's classes of bytes and its limits, and knows
// less than the gate does. Everything that it does not know is not plain: tabs, a second Host,
// a Connection other than close and keep-alive, and every field that says something about a body.
//
// A Reader is immutable. Any number of goroutines may use it at once.
type Reader struct {
	proxies *Proxies
	names   nameTable
	never   bool // the settings name a field that has a meaning of its own: nothing is plain
}

// NewReader returns a reader that finds clients and countries by p, and the fields with the names
// purposes (see Plain.Purposes). If one of these names is also that of a field which the reader or
// fasthttp treats in a special way, such as Host or Cookie, then nothing is plain.
func NewReader(p *Proxies, purposes []string) *Reader {
	rd := &Reader{proxies: p}
	for _, name := range purposes {
		rd.addName(name, rulePurpose)
	}
	rd.addName(p.Header, ruleClient)
	rd.addName(p.CountryHeader, ruleCountry)
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
	if !isPlainName(name) || hasOwnRule(name) {
		rd.never = true
		return
	}
	rd.names.add(name, rule)
}

// maxSegmentBytes is the length of the longest code.
const maxSegmentBytes = 64

// Positions in a head that are none.
const (
	notPlain   = -1
	unfinished = -2 // all bytes may be the beginning of a plain request
)

// Read reads one request from the beginning of b. If n > 0, the request is plain and has n bytes; r
// has been set, except for NowMs. If n is 0 and more is set, b is the beginning of what may be a
// plain request. Otherwise it is another request or no request; that is reported as soon as the
// bytes show it. If n is 0, r has no meaning.
//
// Read allocates nothing. It does not remember anything, so it reads a head that comes in pieces
// again from its beginning: at most 16 KiB, some 5 µs, for each piece.
func (rd *Reader) Read(b []byte, peer netip.Addr, r *Plain) (n int, more bool) {
	b = b[:min(len(b), maxHeaderBytes)]
	var f found
	end := readRequestLine(b, r, &f)
	if end > 0 {
		r.UserAgent, r.Referrer, r.Purposes = nil, nil, nil
		end = rd.readFields(b, end, r, &f)
	}
	if end < 0 || rd.never {
		return 0, end == unfinished && len(b) < maxHeaderBytes && !rd.never
	}
	if f.minor == '1' && f.rules&ruleHost == 0 {
		return 0, false
	}
	r.Raw = b[:end]
	r.Closes = f.closes || f.minor == '0' && f.rules&ruleConnection == 0
	if f.purposes > 0 {
		r.Purposes = b[f.purposes:end]
	}
	r.Peer, r.Client, r.Country = peer, peer, nil
	if f.rules&(ruleClient|ruleCountry) != 0 && rd.proxies.Trust(peer) {
		rd.forwarded(b, peer, r, &f)
	}
	return end, false
}

// forwarded sets what the trusted peer says about the client.
func (rd *Reader) forwarded(b []byte, peer netip.Addr, r *Plain, f *found) {
	var lines [maxClientLines][]byte
	for i, s := range f.clients[:f.clientLines] {
		lines[i] = b[s.from:s.to]
	}
	r.Client = rd.proxies.rightmostClient(peer, lines[:f.clientLines])
	if f.rules&ruleCountry != 0 {
		r.Country = b[f.country.from:f.country.to]
	}
}

// readRequestLine reads the request line at the beginning of b and returns where it ends.
func readRequestLine(b []byte, r *Plain, f *found) (end int) {
	const getSlash, headSlash = 'G' | 'E'<<8 | 'T'<<16 | ' '<<24 | '/'<<32, 'H' | 'E'<<8 | 'A'<<16 | 'D'<<24 | ' '<<32 | '/'<<40
	from := 0
	switch w := wordAt(b, 0); {
	case w&(1<<40-1) == getSlash:
		from, r.Head = len("GET /"), false
	case w&(1<<48-1) == headSlash:
		from, r.Head = len("HEAD /"), true
	default:
		return firstBytes(b)
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
		end = from + targetBytes(b[from:])
		r.Query = b[from:end]
	}
	return readPlainVersion(b, end, f)
}

// firstBytes returns the state after b, which does not begin with the method of a plain request and
// a slash.
func firstBytes(b []byte) int {
	for _, beginning := range [...]string{"GET /", "HEAD /"} {
		if len(b) < len(beginning) && string(b) == beginning[:len(b)] {
			return unfinished
		}
	}
	return notPlain
}

// readPlainVersion reads the end of a request line, from the space before the version, and returns where
// the line ends.
func readPlainVersion(b []byte, at int, f *found) (end int) {
	const form = " HTTP/1.1\r\n"
	end = at + len(form)
	if end > maxRequestLineBytes {
		return notPlain
	}
	for i := range form {
		switch {
		case at+i == len(b):
			return unfinished
		case b[at+i] != form[i] && (i != 8 || b[at+i] != '0'):
			return notPlain
		}
	}
	f.minor = b[at+8]
	return end
}

// readFields reads the fields from at on and returns where the head ends.
func (rd *Reader) readFields(b []byte, at int, r *Plain, f *found) (end int) {
	for fields := 0; ; fields++ {
		if at == len(b) {
			return unfinished
		}
		if b[at] == '\r' {
			return lineEnd(b, at)
		}
		if fields == maxFields {
			return notPlain
		}
		colon := at
		for {
			k := nameBytes(wordAt(b, colon))
			if colon += k; k < 8 {
				break
			}
		}
		if colon == len(b) || b[colon] != ':' {
			if colon = nameEnd(b, colon); colon < 0 {
				return colon
			}
		}
		if colon == at {
			return notPlain
		}
		to := colon + 1
		for {
			k := textBytes(wordAt(b, to))
			if to += k; k < 8 {
				break
			}
		}
		next := lineEnd(b, to)
		if next < 0 {
			return next
		}
		if rd.names.may(colon-at, b[at]) && !rd.readKnown(b, span{at, colon}, span{colon + 1, to}, r, f) {
			return notPlain
		}
		at = next
	}
}

// nameEnd returns where the name of a field ends that has other bytes than letters and dashes from
// at on.
func nameEnd(b []byte, at int) int {
	for ; at < len(b); at++ {
		switch {
		case b[at] == ':':
			return at
		case bytesOf[b[at]]&inToken == 0:
			return notPlain
		}
	}
	return unfinished
}

// lineEnd reads the end of a line at at and returns the position after it.
func lineEnd(b []byte, at int) int {
	switch {
	case at < len(b) && b[at] != '\r':
		return notPlain
	case at+1 >= len(b):
		return unfinished
	case b[at+1] != '\n':
		return notPlain
	}
	return at + 2
}
