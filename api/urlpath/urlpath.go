package urlpath

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"shunt/engine"
)

// Split returns the path and the query of a raw request target, both as they were sent: nothing
// is decoded or cleaned. The path of an absolute-form target (RFC 9112, 3.2.2) is the part after
// the authority. A request target has no fragment, but some clients send one; it is dropped.
func Split(uri []byte) (path, query []byte) {
	uri, _, _ = bytes.Cut(uri, []byte{'#'})
	path, query, _ = bytes.Cut(uri, []byte{'?'})
	if len(path) > 0 && path[0] == '/' {
		return path, query
	}
	_, after, absolute := bytes.Cut(path, []byte("://"))
	if !absolute {
		return path, query // "*" and CONNECT's host:port
	}
	slash := bytes.IndexByte(after, '/')
	if slash < 0 {
		return []byte{'/'}, query
	}
	return after[slash:], query
}

// Authority returns who a request is for, with a port or without: the authority of an absolute-form target, which comes
// before the Host field (RFC 9112, 3.2.2), or that field.
func Authority(uri, host []byte) []byte {
	if len(uri) > 0 && uri[0] == '/' {
		return host
	}
	_, after, absolute := bytes.Cut(uri, []byte("://"))
	if !absolute {
		return host
	}
	if end := bytes.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	return after
}

// IsAbsolute reports whether a raw request target is in absolute form (RFC 9112, 3.2.2).
func IsAbsolute(uri []byte) bool {
	scheme, _, found := bytes.Cut(uri, []byte("://"))
	return found && !bytes.ContainsAny(scheme, "/?#")
}

// OriginForm returns path and query of a request target as they were sent, without a fragment: for an
// absolute-form target the part after the authority, for "*" the root.
func OriginForm(uri []byte) []byte {
	uri, _, _ = bytes.Cut(uri, []byte{'#'})
	if len(uri) > 0 && uri[0] == '/' {
		return uri
	}
	_, after, _ := bytes.Cut(uri, []byte("://"))
	start := bytes.IndexAny(after, "/?")
	switch {
	case start < 0:
		return []byte{'/'}
	case after[start] == '?':
		return append([]byte{'/'}, after[start:]...)
	}
	return after[start:]
}

// Code returns the code that a path names exactly: /{code} or /{code}/, with each escape of a byte that needs none as
// that byte (see unescaped); nil if it names none. It allocates only if there are such escapes.
func Code(path []byte) []byte { return codeIn(unescaped(path)) }

func codeIn(path []byte) []byte {
	if len(path) < 2 || path[0] != '/' {
		return nil
	}
	code := path[1:]
	if code[len(code)-1] == '/' {
		if code = code[:len(code)-1]; string(code) == "_" { // the overview, dashboard.Root
			return nil
		}
	}
	if !IsCode(code) {
		return nil
	}
	return code
}

// IsCode reports whether a request for /code is one for a link: code can be one, and nothing else may ever be served
// there. Of what is reserved, "api", "_" and "rest" alone are codes here, because the reader of plain requests takes
// them for codes too, and no link has them.
func IsCode(code []byte) bool {
	if !engine.ValidCode(code) {
		return false
	}
	return bytes.IndexByte(code, '/') < 0 && bytes.IndexByte(code, '.') < 0 || !engine.Reserved(code)
}

// MayBeSpoilt reports whether SpoiltCode may find another code than the one that Code has found: a dot belongs to
// codes, but follows addresses too.
func MayBeSpoilt(code []byte) bool { return code[len(code)-1] == '.' }

// Beginnings yields the codes that a path begins with, as whole segments, from the longest one on, each with the rest
// of the path as it was sent, from one slash on. It yields none if the path belongs to something else than links, or if
// the rest could lead out of the path that it is added to: it has a segment "." or "..", which clients and servers
// remove, or a backslash, which browsers take for a slash, also if they are escaped.
func Beginnings(path []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(code, rest []byte) bool) {
		if len(path) == 0 || path[0] != '/' || reservedRoot(path[1:]) {
			return
		}
		code, ends := segmentsOf(path)
		for i := len(ends) - 1; i >= 0; i-- {
			if i == len(ends)-1 && leadsOut(path) { // asked last, because it reads the whole path
				return
			}
			rest := path[ends[i].path:]
			for len(rest) > 1 && rest[1] == '/' {
				rest = rest[1:]
			}
			if code := code[:ends[i].code]; IsCode(code) && !yield(code, rest) {
				return
			}
		}
	}
}

// An end is where a segment ends: in a code, and in the path as it was sent.
type end struct{ code, path int }

// segmentsOf returns the code of as many segments of a path as one can have, without what follows the last slash, and
// where they end. It takes time in proportion to what a code may have, however long the path is.
func segmentsOf(path []byte) (code []byte, ends []end) {
	for at := 1; ; {
		next := bytes.IndexByte(path[at:min(len(path), at+maxSentBytes)], '/')
		if next <= 0 {
			return code, ends
		}
		if len(ends) > 0 {
			code = append(code, '/')
		}
		code = append(code, unescaped(path[at:at+next])...)
		if len(code) > engine.MaxCodeBytes {
			return code, ends
		}
		at += next
		ends = append(ends, end{len(code), at})
		at++
	}
}

// maxSentBytes bounds a code as it may be sent: all of it escaped, and each character in the longest form that NFC
// makes shorter.
const maxSentBytes = 3*3*engine.MaxCodeBytes + 1

func reservedRoot(path []byte) bool {
	root, _, _ := bytes.Cut(path[:min(len(path), maxSentBytes)], []byte{'/'})
	return engine.Reserved(unescaped(root))
}

// leadsOut reports whether a path has a segment of dots or a backslash, in whatever way it is written.
func leadsOut(path []byte) bool {
	path = withoutEscapes(path)
	for _, escape := range []string{"%2f", "%2F"} {
		path = bytes.ReplaceAll(path, []byte(escape), []byte{'/'})
	}
	if bytes.IndexByte(path, '\\') >= 0 || bytes.Contains(bytes.ToLower(path), []byte("%5c")) {
		return true
	}
	for segment := range bytes.SplitSeq(path, []byte{'/'}) {
		if name := string(segment); name == "." || name == ".." {
			return true
		}
	}
	return false
}

// SpoiltCode returns the code that a path names if no link has the one that Code finds, and the query
// that belongs to it; nil if it names none. The path may have what people and mailers put after an address. There is
// at most one such code, so a request is two look-ups at most. It takes time in proportion to the path, and allocates
// if there are escapes of bytes that need none, or two queries.
func SpoiltCode(path, query []byte) (code, allQuery []byte) {
	path, added, _ := bytes.Cut(path, []byte{'&'})
	code = codeIn(Clean(path))
	if code == nil || len(added) == 0 {
		return code, query
	}
	if len(query) == 0 {
		return code, added
	}
	return code, slices.Concat(added, []byte{'&'}, query)
}

// Plain returns path without needless escapes.
func Plain(path []byte) []byte { return unescaped(path) }

// Clean returns path without needless escapes, and without what people and mailers put after an address.
func Clean(path []byte) []byte { return trimmed(unescaped(path)) }

// unescaped returns path with the bytes that RFC 3986, 2.3, calls unreserved in place of their escapes, which mean the
// same (6.2.2.2), and with characters beyond ASCII in place of theirs, in the normal form of codes. All other escapes
// stay. Without any, it is path itself.
func unescaped(path []byte) []byte {
	path = withoutEscapes(path)
	if slices.ContainsFunc(path, func(c byte) bool { return c >= utf8.RuneSelf }) {
		path = []byte(engine.NormalCode(string(path)))
	}
	return path
}

func withoutEscapes(path []byte) []byte {
	if bytes.IndexByte(path, '%') < 0 {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if c, ok := escapedByte(path[i:]); ok && (isUnreserved(c) || c >= utf8.RuneSelf) {
			out = append(out, c)
			i += escapeBytes - 1
		} else {
			out = append(out, path[i])
		}
	}
	return out
}

func isUnreserved(c byte) bool {
	letter := 'a' <= c|0x20 && c|0x20 <= 'z'
	return letter || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// escapeBytes is the length of an escape.
const escapeBytes = 3

// escapedByte returns the byte whose escape b begins with.
func escapedByte(b []byte) (c byte, ok bool) {
	if len(b) < escapeBytes || b[0] != '%' {
		return 0, false
	}
	high, low := hexDigit(b[1]), hexDigit(b[2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

// hexDigit returns the value of a hexadecimal digit, -1 if c is not one.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// trimmed returns path without the punctuation, the blanks and the zero-width characters that follow
// an address in a text, raw or escaped, before and after a last slash.
func trimmed(path []byte) []byte {
	path = trimmedEnd(path)
	if before, slash := bytes.CutSuffix(path, []byte{'/'}); slash {
		if end := trimmedEnd(before); len(end) < len(before) {
			return end
		}
	}
	return path
}

func trimmedEnd(path []byte) []byte {
	for len(path) > 0 {
		r, size := lastRune(path)
		if !followsAddress(r) {
			break
		}
		path = path[:len(path)-size]
	}
	return path
}

// followsAddress reports whether r is a character after an address rather than a part of it:
// punctuation, a blank, or one without a width (U+200B to U+200F, U+2060, U+FEFF and other format
// characters).
func followsAddress(r rune) bool {
	switch r {
	case '.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}', '<', '>', '\'', '"':
		return true
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// lastRune returns the last character of b and how many bytes of b it takes. It may be escaped as a
// whole.
func lastRune(b []byte) (r rune, size int) {
	var char [utf8.UTFMax]byte
	for n := 1; n <= len(char) && n*escapeBytes <= len(b); n++ {
		c, ok := escapedByte(b[len(b)-n*escapeBytes:])
		if !ok {
			break
		}
		at := len(char) - n
		if char[at] = c; utf8.RuneStart(c) {
			if r, size = utf8.DecodeRune(char[at:]); size == n {
				return r, n * escapeBytes
			}
			break
		}
	}
	return utf8.DecodeLastRune(b)
}
