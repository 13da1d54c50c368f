package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Pages read the links in what an API has answered: one value of JSON or several after each other, each a list of
// links, or an object that has such a list in one of its members.
type pages struct {
	text    *counted
	in      *json.Decoder
	closing []json.Delim // what is open
	value   bool         // the value of one of lists comes next
	number  int64        // of the last link
	broken  bool
}

func openPages(file io.ReaderAt, size int64) *pages {
	text := &counted{from: io.NewSectionReader(file, 0, size)}
	in := json.NewDecoder(&cleaned{from: bufio.NewReaderSize(text, blockBytes)})
	in.UseNumber()
	return &pages{text: text, in: in}
}

// maxItemBytes bounds what one step reads: a link, or a member that has none.
const maxItemBytes = 16 << 20

var errLongItem = fmt.Errorf("a value has more than %d MiB", maxItemBytes>>20)

// counted counts what is read.
type counted struct {
	from io.Reader
	n    int64
	most int64 // that n may become
}

func (c *counted) Read(p []byte) (int, error) {
	if c.n > c.most {
		return 0, errLongItem
	}
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// cleaned makes blanks of control characters, which some systems write into strings as they are, and JSON forbids. It
// leaves out a byte order mark.
type cleaned struct {
	from  *bufio.Reader
	begun bool
}

func (c *cleaned) Read(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		if mark, _ := c.from.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
			_, _ = c.from.Discard(len(mark)) // it is there
		}
	}
	n, err := c.from.Read(p)
	for i, b := range p[:n] {
		if b < ' ' {
			p[i] = ' '
		}
	}
	return n, err
}

// lists are the members in which APIs have their links.
var lists = map[string]bool{"links": true, "data": true, "shortUrls": true, "result": true, "results": true, "items": true}

// next implements rows.
func (p *pages) next() (f fields, number int64, refused, err error) {
	for !p.broken {
		p.text.most = p.text.n + maxItemBytes
		isItem := len(p.closing) > 0 && p.closing[len(p.closing)-1] == ']' && p.in.More()
		if !isItem {
			isItem, err = p.step()
		}
		switch {
		case errors.Is(err, io.EOF) && len(p.closing) == 0:
			return nil, 0, nil, io.EOF
		case err != nil:
			p.broken = true
			return nil, p.number + 1, p.breakAt(err), nil
		case isItem:
			return p.item()
		}
	}
	return nil, 0, nil, io.EOF
}

// item reads a link.
func (p *pages) item() (f fields, number int64, refused, err error) {
	var item any
	p.number++
	if err := p.in.Decode(&item); err != nil {
		p.broken = true
		return nil, p.number, p.breakAt(err), nil
	}
	object, ok := item.(map[string]any)
	if !ok {
		return nil, p.number, errors.New("is no object of JSON"), nil
	}
	return flat(object), p.number, nil, nil
}

// breakAt is the reason why a file is not read on.
func (p *pages) breakAt(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the JSON is damaged after %d bytes, and what follows was not read: %w", p.in.InputOffset(), err)
}

// step reads a token, and passes over the value of a member that has no links. isItem: a link follows, as YOURLS has
// them: {"link_1": {…}}.
func (p *pages) step() (isItem bool, err error) {
	token, err := p.in.Token()
	if err != nil {
		return false, err
	}
	isName := len(p.closing) > 0 && p.closing[len(p.closing)-1] == '}' && !p.value
	p.value = false
	switch token := token.(type) {
	case json.Delim:
		if token == '{' || token == '[' {
			p.closing = append(p.closing, token+2) // the brackets are two apart
		} else {
			p.closing = p.closing[:len(p.closing)-1]
		}
	case string:
		switch {
		case isName && strings.HasPrefix(token, "link_"):
			return true, nil
		case isName && lists[token]:
			p.value = true
		case isName:
			var skipped json.RawMessage
			return false, p.in.Decode(&skipped)
		}
	}
	return false, nil
}

func (p *pages) passed() int64 { return p.text.n }

// flat returns the values of an object: those of objects in it by both names together, a list of texts, or of objects
// with a name, as a list.
func flat(object map[string]any) fields {
	f := make(fields, len(object))
	flatten(f, "", object, 0)
	return f
}

const maxDepth = 4

func flatten(f fields, before string, object map[string]any, depth int) {
	for name, v := range object {
		name = before + plainName(name)
		switch v := v.(type) {
		case map[string]any:
			if depth < maxDepth {
				flatten(f, name, v, depth+1)
			}
		case []any:
			f[name] = value{list: texts(v)}
		default:
			f[name] = value{text: textOf(v)}
		}
	}
}

func texts(items []any) (list []string) {
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			item = object["name"]
		}
		if text := textOf(item); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return "" // null, and what is nested
}
