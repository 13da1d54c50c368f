package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Objects read the links of lines of JSON that are not ours.
type objects struct{ lines *lines }

var errNoObject = errors.New("is no object of JSON")

// next implements rows.
func (o *objects) next() (f fields, number int64, refused, err error) {
	r, err := o.lines.Next()
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
