package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// After damage in pages of JSON nobody knows which brackets are open, and a quotation mark that is missing makes texts
// of what is between texts. So the next place is looked for at which all of an object is right and it is a link, or at
// which a page begins that has one. Objects within a link, such as its tags, are neither. Of several links in a row
// that are damaged, only the first is named, with the bytes of all.

// After damage, each place where a link may begin is tried. These limits are for all failed tries in a file together.
const (
	maxTriedBytes   = 64 << 20 // in any file
	maxTriedPerByte = 8        // and so many more for each byte that was passed
)

// resumeBytes are read at once after damage: the next one may be near.
const resumeBytes = 4 << 10

// resume goes on after damage that was met after the offset at, if it can. It returns why a link is refused, and the
// text that was passed over, unless it is long.
func (p *pages) resume(at int64, why error) (fields, error) {
	next, inPage := p.after(at)
	if next < 0 {
		p.broken = true
		return p.textOf(at, p.size), fmt.Errorf("the JSON is damaged after %d bytes, and what follows was not read: %w", at, why)
	}
	switch {
	case inPage:
		p.closing = nil
	case !p.inList():
		p.closing = slices.Clone(p.list)
	}
	p.readFrom(next, resumeBytes)
	p.isNext = len(p.closing) > 0 && !p.inList()
	return p.textOf(at, next), fmt.Errorf("the JSON is damaged after %d bytes, and %d were passed over: %w", at, next-at, why)
}

// textOf returns a part of the file, nil if it is long.
func (p *pages) textOf(at, end int64) fields {
	if end-at > maxRowBytes {
		return nil
	}
	text := make([]byte, end-at)
	if readFull(p.file, text, at) != nil { // it will show again
		return nil
	}
	return textOnly(strings.Trim(string(text), ", \t\r\n"))
}

// after returns where the next link or page begins after an offset; -1: nowhere.
func (p *pages) after(at int64) (next int64, isPage bool) {
	in := bufio.NewReaderSize(&cleaned{io.NewSectionReader(p.file, at, p.size-at)}, resumeBytes)
	next = -1
	for ; p.tried < maxTriedBytes+maxTriedPerByte*at; at++ {
		b, err := in.ReadByte()
		switch {
		case err != nil:
			return -1, false
		case b == '{':
			next = at
		case b == '"' && next >= 0:
			text := &counted{from: io.NewSectionReader(p.file, next, p.size-next), most: maxLineBytes}
			if p.hasPlace(next) && beginsLink(text) {
				return next, false
			}
			p.tried += text.n
			text = &counted{from: io.NewSectionReader(p.file, next, p.size-next), most: maxLineBytes}
			if beginsPage(text) {
				return next, true
			}
			p.tried += text.n
			next = -1
		case b != ' ':
			next = -1
		}
	}
	return -1, false
}

// named is what stands before a link of YOURLS.
var named = regexp.MustCompile(`"link_[0-9]+"\s*:\s*$`)

// hasPlace reports whether a link may begin at an offset: links are in a list, or they have names as YOURLS has them.
func (p *pages) hasPlace(at int64) bool {
	switch {
	case p.inList():
		return true
	case len(p.list) == 0:
		return false
	case p.list[len(p.list)-1] == ']':
		return true
	}
	before := make([]byte, min(at, 64))
	return readFull(p.file, before, at-int64(len(before))) == nil && named.Match(before) // an error will show again
}

// beginsLink reports whether a text begins with a whole link.
func beginsLink(text io.Reader) bool {
	in := json.NewDecoder(&cleaned{text})
	in.UseNumber()
	var object map[string]any
	return in.Decode(&object) == nil && !hasNext(object) && isLink(flat(object))
}

// beginsPage reports whether a text begins with a page that has a link. An object that has links of YOURLS itself is a
// part of one, or a link without its end.
func beginsPage(text io.Reader) bool {
	in := json.NewDecoder(&cleaned{text})
	in.UseNumber()
	p := &pages{in: in, text: &counted{}, met: make(fields)}
	f, _, _, err := p.link()
	isPart := len(p.list) == 1 && p.list[0] == '}'
	return err == nil && f != nil && isLink(f) && !isPart
}
