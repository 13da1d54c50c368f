package accesslog

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"
	"unsafe"

	"shunt/api/jsontext"
)

// An Entry is what the log may say of a request. Its slices are read during Note only.
type Entry struct {
	NowMs     int64 // Unix time
	Method    []byte
	Path      []byte // as it was sent; Note leaves out its query
	HTTP10    bool
	Status    int
	Bytes     int           // of the body; negative: not known
	Took      time.Duration // 0: not measured
	Prefetch  bool          // its 503 is no failure: the request was a prefetch; only lines in JSON say so
	RequestID []byte        // of the characters 0-9, A-Z, a-z, _ and - only; empty: none

	// Left out unless the log has clients.
	Client    netip.Addr
	UserAgent []byte
	Referrer  []byte
}

// The most bytes of a field that a line has, before escapes.
const (
	maxMethod   = 16
	maxPath     = 128
	maxAgent    = 256
	maxReferrer = 256
)

// maxLine is more than a line can have: each byte of a field becomes six at most (\u0000), and all
// that is not from a client has less than 512 bytes.
const maxLine = 512 + 6*(maxMethod+maxPath+maxAgent+maxReferrer)

// token begins the tokens of the API.
var token = []byte("shunt_")

// pathOf returns the part of a path that may be logged. After a code, a query may begin with an
// ampersand.
func pathOf(path []byte) []byte {
	if i := bytes.IndexAny(path, "?#&"); i >= 0 {
		path = path[:i]
	}
	return beforeSecret(path[:min(len(path), maxPath)])
}

// setupPage is the page at which people use setup codes.
var setupPage = []byte("/_/setup")

// maxDecodings is how often a text is decoded in the search for a secret.
const maxDecodings = 8

// beforeSecret returns text, of at most maxReferrer bytes, up to the first secret that can be
// recognized: behind what begins a token, or behind the page of setup codes. If that is
// percent-encoded, or a query is, the text ends before the first %. So does a text that is encoded
// more than maxDecodings times. It allocates nothing.
func beforeSecret(text []byte) []byte {
	for _, begin := range [][]byte{token, setupPage} {
		if i := bytes.Index(text, begin); i >= 0 {
			text = text[:i+len(begin)]
		}
	}
	first := bytes.IndexByte(text, '%')
	if first < 0 {
		return text
	}
	var room [maxReferrer]byte
	plain := append(room[:0], text...)
	for range maxDecodings {
		n := len(plain)
		if plain = decodeOnce(plain); len(plain) == n {
			return text
		}
		if bytes.Contains(plain, token) || bytes.Contains(plain, setupPage) || bytes.ContainsAny(plain, "?#") {
			break
		}
	}
	return text[:first]
}

// decodeOnce decodes the percent-encoded bytes of text in its own memory.
func decodeOnce(text []byte) []byte {
	plain := text[:0]
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				i += 2
			}
		}
		plain = append(plain, c)
	}
	return plain
}

// hexDigit returns the value of a hexadecimal digit, -1 if c is none.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// referrerOf returns the part of a referrer that may be logged: its query may hold a secret of the
// site that it is of, and so may a name and a password before the host.
func referrerOf(referrer []byte) []byte {
	if i := bytes.IndexAny(referrer, "?#"); i >= 0 {
		referrer = referrer[:i]
	}
	if bytes.IndexByte(referrer, '@') >= 0 {
		return nil
	}
	return beforeSecret(referrer[:min(len(referrer), maxReferrer)])
}

// agentOf returns the part of a User-Agent that may be logged.
func agentOf(agent []byte) []byte { return beforeSecret(agent[:min(len(agent), maxAgent)]) }

// methodOf returns the part of a method that may be logged.
func methodOf(method []byte) []byte {
	return beforeSecret(method[:min(len(method), maxMethod)])
}

// appendJSON appends e as a line of JSON.
func appendJSON(dst []byte, e *Entry, clients bool) []byte {
	dst = append(dst, `{"time":"`...)
	dst = time.UnixMilli(e.NowMs).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, `","method":`...)
	dst = appendText(dst, methodOf(e.Method), maxMethod)
	dst = append(dst, `,"path":`...)
	dst = appendText(dst, pathOf(e.Path), maxPath)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(e.Status), 10)
	if e.Bytes >= 0 {
		dst = strconv.AppendInt(append(dst, `,"bytes":`...), int64(e.Bytes), 10)
	}
	if e.Prefetch {
		dst = append(dst, `,"prefetch":true`...)
	}
	if e.Took > 0 {
		dst = strconv.AppendFloat(append(dst, `,"seconds":`...), e.Took.Seconds(), 'f', 6, 64)
	}
	if len(e.RequestID) > 0 {
		dst = append(append(append(dst, `,"request_id":"`...), e.RequestID...), '"')
	}
	if clients {
		dst = append(e.Client.AppendTo(append(dst, `,"client":"`...)), `","user_agent":`...)
		dst = appendText(dst, agentOf(e.UserAgent), maxAgent)
		dst = append(dst, `,"referrer":`...)
		dst = appendText(dst, referrerOf(e.Referrer), maxReferrer)
	}
	return append(dst, "}\n"...)
}

// appendText appends at most limit bytes of text as a JSON string.
func appendText(dst, text []byte, limit int) []byte {
	text = text[:min(len(text), limit)]
	return jsontext.AppendString(dst, unsafe.String(unsafe.SliceData(text), len(text)))
}

// appendCombined appends e in the Combined Log Format of Apache httpd
// (https://httpd.apache.org/docs/2.4/logs.html#combined), with the escapes that httpd has since
// 2.0.49. What the log does not have is "-".
func appendCombined(dst []byte, e *Entry, clients bool) []byte {
	if clients && e.Client.IsValid() {
		dst = e.Client.AppendTo(dst)
	} else {
		dst = append(dst, '-')
	}
	dst = time.UnixMilli(e.NowMs).UTC().AppendFormat(append(dst, " - - ["...), "02/Jan/2006:15:04:05 +0000")
	dst = appendEscaped(append(dst, `] "`...), methodOf(e.Method), maxMethod)
	dst = appendEscaped(append(dst, ' '), pathOf(e.Path), maxPath)
	if e.HTTP10 {
		dst = append(dst, ` HTTP/1.0" `...)
	} else {
		dst = append(dst, ` HTTP/1.1" `...)
	}
	dst = append(strconv.AppendInt(dst, int64(e.Status), 10), ' ')
	if e.Bytes > 0 {
		dst = strconv.AppendInt(dst, int64(e.Bytes), 10)
	} else {
		dst = append(dst, '-')
	}
	if !clients {
		return append(dst, " \"-\" \"-\"\n"...)
	}
	dst = appendQuoted(append(dst, ' '), referrerOf(e.Referrer), maxReferrer)
	dst = appendQuoted(append(dst, ' '), agentOf(e.UserAgent), maxAgent)
	return append(dst, '\n')
}

func appendQuoted(dst, text []byte, limit int) []byte {
	if len(text) == 0 {
		return append(dst, `"-"`...)
	}
	return append(appendEscaped(append(dst, '"'), text, limit), '"')
}

// appendEscaped appends at most limit bytes of text, with \" and \\, and \xhh for all that is not a
// printable character of ASCII.
func appendEscaped(dst, text []byte, limit int) []byte {
	const digits = "0123456789abcdef"
	for _, c := range text[:min(len(text), limit)] {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c > '~':
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
