package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Pages read the links in what an API has answered: one value of JSON or several after each other, each a list of
// links, or an object that has such a list in one of its members. After a link that is damaged, or a page that ends too
// early, it goes on where the next one begins: see resync.go.
type pages struct {
	file    io.ReaderAt
	size    int64
	text    *counted
	in      *json.Decoder
	before  int64        // the offset of in within the file
	closing []json.Delim // what is open
	list    []json.Delim // what was open around the last link, the last one a list, or an object as YOURLS has it
	value   bool         // the value of one of lists comes next
	isNext  bool         // a link comes next, whose name was read
	tried   int64        // bytes that were read in vain after damage
	met     fields       // members before the first link, without values
	number  int64        // of the last link
	broken  bool
}

func openPages(file io.ReaderAt, size int64) *pages {
	p := &pages{file: file, size: size, met: make(fields)}
	at, mark := int64(0), make([]byte, len(byteOrderMark))
	if n, _ := file.ReadAt(mark, 0); bytes.Equal(mark[:n], byteOrderMark) { // an error will show again
		at = int64(n)
	}
	p.readFrom(at, blockBytes)
	return p
}

// readFrom reads on at an offset, at which what is in closing is open, with a buffer of some bytes.
func (p *pages) readFrom(at int64, buffer int) {
	open, tokens := "", 0
	for _, c := range p.closing {
		if c == '}' {
			open, tokens = open+`{"":`, tokens+2
		} else {
			open, tokens = open+"[", tokens+1
		}
	}
	p.before, p.value, p.isNext = at-int64(len(open)), false, false
	p.text = &counted{from: io.NewSectionReader(p.file, at, p.size-at), n: at, most: at + maxItemBytes}
	p.in = json.NewDecoder(io.MultiReader(strings.NewReader(open), &cleaned{bufio.NewReaderSize(p.text, buffer)}))
	p.in.UseNumber()
	for range tokens {
		_, _ = p.in.Token() // they are right
	}
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

// cleaned makes blanks of control characters, which some systems write into strings as they are, and JSON forbids.
type cleaned struct{ from io.Reader }

func (c *cleaned) Read(p []byte) (int, error) {
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
	if p.broken {
		return nil, 0, nil, io.EOF
	}
	f, at, refused, err := p.link()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, nil, io.EOF
	case err != nil:
		f, refused = p.resume(at, err)
	}
	p.number++
	return f, p.number, refused, nil
}

// link reads up to the next link; io.EOF: there is none. at is where it begins, or where the JSON is damaged.
func (p *pages) link() (f fields, at int64, refused, err error) {
	for {
		at = p.before + p.in.InputOffset()
		p.text.most = p.text.n + maxItemBytes
		isItem := p.isNext || p.inList() && p.in.More()
		p.isNext = false
		if !isItem {
			isItem, err = p.step()
		}
		switch {
		case errors.Is(err, io.EOF) && len(p.closing) > 0:
			return nil, at, nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, at, nil, err
		case isItem:
			f, refused, err = p.item()
			return f, at, refused, err
		}
	}
}

func (p *pages) inList() bool { return len(p.closing) > 0 && p.closing[len(p.closing)-1] == ']' }

// item reads a link.
func (p *pages) item() (f fields, refused, err error) {
	p.list = append(p.list[:0], p.closing...)
	var item any
	switch err := p.in.Decode(&item); {
	case errors.Is(err, io.EOF):
		return nil, nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, nil, err
	}
	object, ok := item.(map[string]any)
	switch {
	case !ok:
		return nil, errNoObject, nil
	case hasNext(object), hasList(object) && !isLink(flat(object)):
		return nil, nil, errNoEnd
	}
	return flat(object), nil, nil
}

var errNoEnd = errors.New("a page or a link begins before the end of the one before")

// linkName is the name of a link of YOURLS.
var linkName = regexp.MustCompile(`^link_[0-9]+$`)

// hasNext reports whether an object has a link of YOURLS that has lost the end before it.
func hasNext(object map[string]any) bool {
	for name, v := range object {
		if _, is := v.(map[string]any); is && linkName.MatchString(name) {
			return true
		}
	}
	return false
}

// hasList reports whether an object is a page: it has a list of objects where pages have theirs.
func hasList(object map[string]any) bool {
	for name, v := range object {
		if !lists[name] {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			if hasList(v) || hasNext(v) {
				return true
			}
		case []any:
			if len(v) > 0 {
				_, is := v[0].(map[string]any)
				return is
			}
		}
	}
	return false
}

// isLink reports whether values of JSON are those of a link.
func isLink(f fields) bool {
	hasAddress := slices.ContainsFunc(names["code"], f.has) || slices.ContainsFunc(names["short_url"], f.has)
	return systemOf((*system).members, f.has) != &other || hasAddress && slices.ContainsFunc(names["url"], f.has)
}

// maxMet bounds the members that are noted.
const maxMet = 100

// errDeep is why JSON in which too much is open at once is not read.
var errDeep = errors.New("more than 100 brackets are open")

// maxOpen bounds what is open around links.
const maxOpen = 100

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
			if len(p.closing) == maxOpen {
				return false, errDeep
			}
			p.closing = append(p.closing, token+2) // the brackets are two apart
		} else {
			p.closing = p.closing[:len(p.closing)-1]
		}
	case string:
		if isName && p.number == 0 && len(p.met) < maxMet {
			p.met[plainName(token)] = value{}
		}
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

// flatten adds the values of an object. Of members with one plain name the first one that is not empty stays, in the
// order of their names.
func flatten(f fields, before string, object map[string]any, depth int) {
	for _, member := range slices.Sorted(maps.Keys(object)) {
		name := before + plainName(member)
		if !f[name].empty() {
			continue
		}
		switch v := object[member].(type) {
		case map[string]any:
			if depth < maxDepth {
				flatten(f, name, v, depth+1)
			}
		case []any:
			f[name] = value{list: textsOf(v)}
		default:
			f[name] = value{text: textOf(v)}
		}
	}
}

func textsOf(items []any) (list []string) {
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
