package redirect

import (
	"bytes"

	"shunt/api/choice"
)

// ScanMark is the parameter by which the address in a QR code differs from the short address. It says that the visitor
// has scanned the code, and is meant for us alone: neither rules nor targets see it.
const ScanMark = "_qr"

// maxMarkBytes is the longest way to write the name of the parameter.
const maxMarkBytes = 3 * len(ScanMark)

// TakeScan takes ScanMark, with or without a value, out of the query of a request. It reports whether it was there. If
// it was not, or was alone, nothing is allocated.
func TakeScan(query []byte) (rest []byte, scan bool) {
	marked := 0
	for part := range bytes.SplitSeq(query, []byte{'&'}) {
		if isScan(part) {
			marked++
		}
	}
	switch {
	case marked == 0:
		return query, false
	case marked == 1 && bytes.IndexByte(query, '&') < 0:
		return nil, true
	}
	rest = make([]byte, 0, len(query))
	for part := range bytes.SplitSeq(query, []byte{'&'}) {
		if isScan(part) {
			continue
		}
		if len(rest) > 0 {
			rest = append(rest, '&')
		}
		rest = append(rest, part...)
	}
	return rest, true
}

// isScan reports whether a parameter is ScanMark. A name may be encoded, as the names that rules ask for may.
func isScan(part []byte) bool {
	name := part
	if at := bytes.IndexByte(part, '='); at >= 0 {
		name = part[:at]
	}
	return len(name) >= len(ScanMark) && len(name) <= maxMarkBytes && choice.DecodesTo(name, []byte(ScanMark))
}

// Asked returns the query that the visitor has sent, with ScanMark if it had that.
func (q *Request) Asked() []byte {
	switch {
	case !q.Scan:
		return q.Query
	case len(q.Query) == 0:
		return []byte(ScanMark)
	}
	return append([]byte(ScanMark+"&"), q.Query...)
}
