package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Objects read the links of lines of JSON that are not ours.
type objects struct {
	lines    *lines
	isGolink bool // lines of clicks are passed over
}

var errNoObject = errors.New("is no object of JSON")

// next implements rows.
func (o *objects) next() (f fields, number int64, refused, err error) {
	r, err := o.lines.Next()
	for err == nil && o.isGolink && golinkClicks.Match(r.Link) {
		r, err = o.lines.Next()
	}
	switch {
	case err != nil:
		return nil, 0, nil, err
	case r.Refused != "":
		return nil, r.Number, errors.New(r.Refused), nil
	}
	f, ok := objectOf(r.Link)
	if !ok {
		return textOnly(string(r.Link)), r.Number, errNoObject, nil
	}
	return f, r.Number, nil, nil
}

func (o *objects) passed() int64 { return o.lines.Passed() }

// objectOf reads an object.
func objectOf(text []byte) (f fields, ok bool) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var object map[string]any
	if in.Decode(&object) != nil || object == nil || in.More() {
		return nil, false
	}
	return flat(object), true
}

// golinkClicks is a line of the clicks of golink, which it gives out apart from its links: the id of a link, a time,
// and how many were counted since the one before.
var golinkClicks = regexp.MustCompile(`^([\pL\pN_.]+),([0-9]{9,11}),([0-9]{1,9})$`)

// ErrOnlyClicks is the error of clicks without links.
var ErrOnlyClicks = errors.New("has clicks of golink (/.export-stats) and no links: put both into one file, the links of /.export first")

// countGolink counts the clicks in a file that has links of golink before them; nil: there are none.
func countGolink(file io.ReaderAt, size int64, asked ClickLog) (c *clicks, err error) {
	l := newLines(file, size, false)
	for {
		r, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			if c != nil {
				c.end()
			}
			return c, nil
		case err != nil:
			return nil, err
		}
		parts := golinkClicks.FindSubmatch(r.Link)
		if parts == nil {
			continue
		}
		if c == nil {
			c = newClicks(asked)
		}
		at, _ := moment(string(parts[2]), time.UTC)
		n, _ := number(string(parts[3]))
		if err := c.addSome(string(parts[1]), at, uint32(n)); err != nil {
			return nil, err
		}
	}
}

// golinkID returns the id of a link, under which its clicks are.
func golinkID(short string) string { return strings.ToLower(strings.ReplaceAll(short, "-", "")) }

// maxBegin bounds the records that are read to find out what a file is.
const maxBegin = 100

// firstObject returns the fields of the first line of a file that is an object of JSON, of those at its beginning; nil:
// there is none. isFirst: no other line is before it.
func firstObject(file io.ReaderAt, size int64) (f fields, isFirst bool, err error) {
	l := newLines(file, size, false)
	for n := range maxBegin {
		r, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, false, nil
		case err != nil:
			return nil, false, fmt.Errorf("reading the first line: %w", err)
		}
		if f, ok := objectOf(r.Link); ok {
			return f, n == 0, nil
		}
	}
	return nil, false, nil
}

// firstFields returns the values of the first record that has some, of those at the beginning; nil: there is none.
func firstFields(from rows) fields {
	for range maxBegin {
		if f, _, refused, err := from.next(); f != nil && refused == nil || err != nil { // an error will show again
			return f
		}
	}
	return nil
}
