package redirect

import "bytes"

// PurposeFields are the header fields, in lower case, that say what a request is for; the first is
// that of today's browsers.
var PurposeFields = [...]string{"sec-purpose", "purpose", "x-purpose", "x-moz"}

// aheadWords are what a purpose field says of a request that is made before anybody asks for the page,
// in lower case, alone or among parameters ("prefetch;prerender").
var aheadWords = [...]string{"prefetch", "prerender", "preview"}

// IsPrefetch reports whether the lines of a raw header block say that nobody looks at the answer
// yet: whether one of PurposeFields has one of aheadWords. It looks at lines because a header may come
// in several, and four look-ups by name would be four passes over all headers. It allocates nothing.
func IsPrefetch(raw []byte) bool {
	for len(raw) > 0 {
		line := raw
		if end := bytes.IndexByte(raw, '\n'); end >= 0 {
			line, raw = raw[:end], raw[end+1:]
		} else {
			raw = nil
		}
		value := purposeOf(line)
		for _, word := range aheadWords {
			if containsFold(value, word) {
				return true
			}
		}
	}
	return false
}

// purposeOf returns the value of a header line that is one of PurposeFields, nil of any other. The
// first letter rules out most lines.
func purposeOf(line []byte) []byte {
	if len(line) == 0 {
		return nil
	}
	switch line[0] | 0x20 {
	case 's', 'p', 'x':
	default:
		return nil
	}
	for _, name := range PurposeFields {
		if n := len(name); len(line) > n+1 && line[n] == ':' && equalFold(line[:n], name) {
			return line[n+1:]
		}
	}
	return nil
}

// containsFold reports whether b contains word, which is in lower case, in any case.
func containsFold(b []byte, word string) bool {
	for i := 0; i+len(word) <= len(b); i++ {
		if equalFold(b[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// equalFold reports whether b, which is as long as word, is word in any case; word is in lower
// case.
func equalFold(b []byte, word string) bool {
	for i, c := range b {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}
