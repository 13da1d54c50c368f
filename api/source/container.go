package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A container is how a file holds its records.
type container int

const (
	ours      container = iota // lines of JSON as an export has them
	inTable                    // CSV
	inPages                    // JSON, of one value or several
	inObjects                  // lines of JSON of another system
	inDump                     // SQL
	inRules                    // _redirects
	inMap                      // of nginx
)

// headBytes is how much of a file is looked at.
const headBytes = 64 << 10

var (
	statement = regexp.MustCompile(`(?i)\b((INSERT|REPLACE)\s+((IGNORE|DELAYED|LOW_PRIORITY)\s+)?INTO|CREATE\s+TABLE)\b`)
	dumpBegin = regexp.MustCompile(`(?i)^(--|/\*|#|CREATE\b|INSERT\b|SET\b|REPLACE\b|DROP\b|START\b|USE\b|LOCK\b|BEGIN\b)`)
)

// containerOf finds out how a file holds its records. A format of o decides what it can.
func containerOf(file io.ReaderAt, size int64, o *Options) (container, error) {
	switch o.Format {
	case Shunt:
		if t, err := openTable(file, size, nil); err == nil && isOwnTable(t.headings) { // an error will show again
			return inTable, nil
		}
		return ours, nil
	case CSV:
		return inTable, nil
	case Redirects:
		return inRules, nil
	case Nginx:
		return inMap, nil
	}
	head := make([]byte, min(size, headBytes))
	if err := readFull(file, head, 0); err != nil {
		return ours, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark))
	switch {
	case len(text) == 0:
		return ours, nil
	case IsPacked(head):
		return ours, ErrPacked
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return ours, ErrUTF16
	case text[0] == '[':
		return inPages, nil
	case text[0] == '{':
		return jsonContainer(file, size, text, o)
	case dumpBegin.Match(text) && statement.Match(text):
		return inDump, nil
	}
	if first, _, _ := bytes.Cut(text, []byte{'\n'}); golinkClicks.Match(bytes.TrimSpace(first)) && o.Format == "" {
		return ours, ErrOnlyClicks
	}
	return textContainer(string(text), o), nil
}

// jsonContainer tells lines of JSON of ours, those of others, and pages apart. Any of them may begin with damage.
func jsonContainer(file io.ReaderAt, size int64, head []byte, o *Options) (container, error) {
	f, isFirst, err := firstObject(file, size)
	own := (f.has("code") && f.has("url") || f.has("refused") && f.has("at")) && o.Format == ""
	if err != nil || own && isFirst {
		return ours, err
	}
	if firstFields(openPages(bytes.NewReader(head), int64(len(head)))) != nil {
		return inPages, nil
	}
	switch {
	case own:
		return ours, nil
	case !isFirst && isCut(head): // its first item is long
		return inPages, nil
	case f != nil && (o.Format != "" || isLink(f)):
		return inObjects, nil
	case o.Format == JSON:
		return inPages, nil
	}
	return ours, nil
}

// isCut reports whether a text is JSON as far as it goes, which is not to its end.
func isCut(head []byte) bool {
	var value json.RawMessage
	return errors.Is(json.NewDecoder(&cleaned{bytes.NewReader(head)}).Decode(&value), io.ErrUnexpectedEOF)
}

// textContainer tells rules of proxies, tables, and text that is neither apart.
func textContainer(text string, o *Options) container {
	begin := table{text: text}
	begin.passBlanks()
	text = begin.text
	for line := range strings.Lines(text) {
		words := wordsOf(strings.TrimSpace(line), false)
		if len(words) == 0 {
			continue // a comment
		}
		last := words[len(words)-1]
		switch {
		case words[0] == "map" && len(words) > 2 && strings.Contains(words[1], "$"), strings.HasPrefix(words[0], "/") && len(words) == 2 && strings.HasSuffix(last, ";"):
			return inMap
		case strings.HasPrefix(words[0], "/") && len(words) > 1 && !strings.ContainsAny(words[0], ",;"):
			return inRules
		}
		break
	}
	head, separator := headOf(text, o.Columns)
	switch {
	case o.Format != "" || len(o.Columns) > 0:
		return inTable
	case head == nil:
		if namesWithout(text, separator) != nil {
			return inTable
		}
		return ours
	}
	known := slices.ContainsFunc(head, func(cell string) bool { return isName(plainName(cell)) })
	if len(head) > 1 && (known || hasAddress(text, separator)) {
		return inTable
	}
	return ours
}
