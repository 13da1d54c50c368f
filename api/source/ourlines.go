package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// brokenExport begins the type of what ends an export that could not go on.
const brokenExport = "urn:shunt:problem:"

// openLines returns the lines of JSON of a file, the oldest link first: from the last to the first if it is an export,
// or if its first link is newer than its last.
func openLines(file io.ReaderAt, size int64, newest bool) (Source, error) {
	first, err := firstLink(newLines(file, size, false))
	if err != nil {
		return nil, err
	}
	last, err := firstLink(newLines(file, size, true))
	switch {
	case err != nil:
		return nil, err
	case strings.HasPrefix(last.Type, brokenExport):
		return nil, ErrBroken
	}
	isNewest := newest || first.ShortURL != "" || !last.CreatedAt.IsZero() && first.CreatedAt.After(last.CreatedAt)
	l, err := countedLines(file, size, isNewest && first.Refused == "") // refused ones are in the order of an import
	return &ownLines{lines: l, met: newMet(size)}, err
}

// ownLines are lines of JSON of ours.
type ownLines struct {
	*lines
	met met
}

// Next implements Source.
func (l *ownLines) Next() (Record, error) {
	r, err := l.lines.Next()
	if r.Link == nil {
		return r, err
	}
	link := linkIn(r.Link)
	if why, rest, ok := notCorrected(r.Link, link); ok {
		return Record{Number: r.Number, Refused: why, Rest: rest}, err
	}
	r.Link = link
	l.met.note(link)
	return r, err
}

// Summary implements Source.
func (l *ownLines) Summary() Summary {
	sum := Summary{Format: Shunt}
	l.met.addTo(&sum)
	return sum
}

// note notes the code and the domain of a link in our form.
func (m *met) note(link []byte) {
	var l struct{ Code, Domain string }
	code, isFirst := textAfter(link, `{"code":"`)
	isFirst = isFirst && bytes.HasPrefix(link, []byte(`{"code":"`))
	domain, hasDomain := textAfter(link, `"domain":"`)
	switch {
	case isFirst && (hasDomain || !bytes.Contains(link, []byte(`"domain"`))): // as exports have it
		l.Code, l.Domain = string(code), string(domain)
	case json.Unmarshal(link, &l) != nil, l.Code == "": // it will be refused
		return
	}
	m.countHost(l.Domain)
	m.twins.note(l.Domain, l.Code)
}

// textAfter returns the text of JSON whose name and first mark are in a line; ok == false: it is not there, or not
// plain.
func textAfter(line []byte, begin string) (text []byte, ok bool) {
	at := bytes.Index(line, []byte(begin))
	if at < 0 {
		return nil, false
	}
	text, _, ok = bytes.Cut(line[at+len(begin):], []byte{'"'})
	return text, ok && !bytes.ContainsRune(text, '\\')
}

// linkEnd has the parts of the first and the last line that decide about the order.
type linkEnd struct {
	Type      string    `json:"type"`
	Refused   string    `json:"refused"`
	ShortURL  string    `json:"short_url"` // only exports have it
	CreatedAt time.Time `json:"created_at"`
}

// firstLink returns the first line that has a text.
func firstLink(l *lines) (end linkEnd, err error) {
	for err == nil {
		var text []byte
		if text, _, err = l.next(); len(text) > 0 {
			_ = json.Unmarshal(text, &end) // what is wrong will be refused
			return end, nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return end, err
}

// Lines returns the lines of a file that are not blank, as records: links in JSON.
func Lines(file io.ReaderAt, size int64, fromLast bool) (Source, error) {
	return countedLines(file, size, fromLast)
}

func countedLines(file io.ReaderAt, size int64, fromLast bool) (l *lines, err error) {
	l = newLines(file, size, fromLast)
	if fromLast {
		l.number, err = l.count()
	}
	return l, err
}

// Next implements Source.
func (l *lines) Next() (Record, error) {
	for {
		number := l.number
		text, tooLong, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return Record{}, err
		case err != nil:
			return Record{}, fmt.Errorf("reading line %d: %w", number, err)
		case tooLong:
			return Record{Number: number, Refused: fmt.Sprintf("has more than %d bytes", maxLineBytes)}, nil
		case len(text) > 0:
			return Record{Number: number, Link: text}, nil
		}
	}
}

// Passed implements Source.
func (l *lines) Passed() int64 {
	if l.backwards {
		return l.size - l.at
	}
	return l.at
}

// Summary implements Source.
func (l *lines) Summary() Summary { return Summary{Format: Shunt} }
