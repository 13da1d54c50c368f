package load

import (
	"bytes"
	"errors"
	"fmt"
)

// maxHeadBytes is how long the head of an answer may be.
const maxHeadBytes = 8 << 10

var (
	redirectLine = []byte("HTTP/1.1 302 ")
	headEnd      = []byte("\r\n\r\n")
)

// errWrongAnswer is an answer other than the one that was asked for.
var errWrongAnswer = errors.New("the answer is not what was asked for")

// answerLength returns the length of the answer at the start of b, head and body, or 0 if more of
// it must come, and whether it is the last one of its connection. The answer must begin with a status
// line and have a Content-Length. A redirect must have a Location that begins with TargetStart.
func answerLength(b, statusLine []byte) (length int, last bool, err error) {
	wrong := func() error { return fmt.Errorf("%w, %q: %.300q", errWrongAnswer, statusLine, b) }
	if n := min(len(b), len(statusLine)); !bytes.Equal(b[:n], statusLine[:n]) {
		return 0, false, wrong()
	}
	end := bytes.Index(b, headEnd)
	if end < 0 {
		if len(b) > maxHeadBytes {
			return 0, false, wrong()
		}
		return 0, false, nil
	}
	body, last, located := readFields(b[:end+2])
	if body < 0 || !located && bytes.Equal(statusLine, redirectLine) {
		return 0, false, wrong()
	}
	if whole := end + len(headEnd) + body; whole <= len(b) {
		return whole, last, nil
	}
	return 0, false, nil
}

// readFields returns the length of the body that a head announces, -1 if it has none, whether the server closes the
// connection after it, and whether it has a Location to a target. Each line ends with CR LF.
func readFields(head []byte) (body int, last, located bool) {
	body = -1
	for {
		end := bytes.IndexByte(head, '\n')
		if head = head[end+1:]; len(head) == 0 {
			return body, last, located
		}
		switch head[0] | 0x20 { // only two letters matter
		case 'l':
			if v, is := value(head, "location:"); is {
				located = bytes.HasPrefix(v, []byte(TargetStart))
			}
		case 'c':
			if v, is := value(head, "content-length:"); is {
				body = number(v)
			} else if v, is := value(head, "connection:"); is {
				last = bytes.HasPrefix(v, []byte("close\r"))
			}
		}
	}
}

// value returns what follows name, which is in small letters, and white space at the start of b.
func value(b []byte, name string) (v []byte, is bool) {
	if len(b) < len(name) {
		return nil, false
	}
	for i := range len(name) {
		if c := b[i]; c != name[i] && (c < 'A' || c > 'Z' || c|0x20 != name[i]) {
			return nil, false
		}
	}
	return bytes.TrimLeft(b[len(name):], " \t"), true
}

// number reads digits up to CR. It returns -1 for anything else, and for numbers over a million.
func number(b []byte) int {
	n := 0
	for i, c := range b {
		switch {
		case c == '\r' && i > 0:
			return n
		case c < '0' || c > '9' || n > 100_000:
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return -1
}
