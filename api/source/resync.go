package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// After damage in pages of JSON nobody knows which brackets are open, and a quotation mark that is missing makes texts
// of what is between texts. So the next place is looked for at which all of an object is right and it is a link, or at
// which a page begins that has one. Objects within a link, such as its tags, are neither. Of several links in a row
// that are damaged, only the first is named, with the bytes of all.

// maxTriedBytes bounds what is read in vain after one damage.
const maxTriedBytes = 64 << 20

// resume goes on after damage that was met after the offset at, if it can. It returns why a link is refused.
func (p *pages) resume(at int64, why error) error {
	next, inPage := p.after(at)
	if next < 0 {
		p.broken = true
		return fmt.Errorf("the JSON is damaged after %d bytes, and what follows was not read: %w", at, why)
	}
	switch {
	case inPage:
		p.closing = nil
	case !p.inList():
		p.closing = slices.Clone(p.list)
	}
	p.readFrom(next)
	return fmt.Errorf("the JSON is damaged after %d bytes, and %d were passed over: %w", at, next-at, why)
}

// after returns where the next link or page begins after an offset; -1: nowhere.
func (p *pages) after(at int64) (next int64, isPage bool) {
	in := bufio.NewReaderSize(&cleaned{io.NewSectionReader(p.file, at, p.size-at)}, blockBytes)
	inList := p.inList() || p.list != nil
	next = -1
	for tried := int64(0); tried < maxTriedBytes; at++ {
		b, err := in.ReadByte()
		switch {
		case err != nil:
			return -1, false
		case b == '{':
			next = at
		case b == '"' && next >= 0:
			text := &counted{from: io.NewSectionReader(p.file, next, p.size-next), most: maxLineBytes}
			if inList && beginsLink(text) {
				return next, false
			}
			tried += text.n
			text = &counted{from: io.NewSectionReader(p.file, next, p.size-next), most: maxLineBytes}
			if beginsPage(text) {
				return next, true
			}
			tried += text.n
			next = -1
		case b != ' ':
			next = -1
		}
	}
	return -1, false
}

// beginsLink reports whether a text begins with a whole link.
func beginsLink(text io.Reader) bool {
	in := json.NewDecoder(&cleaned{text})
	in.UseNumber()
	var object map[string]any
	return in.Decode(&object) == nil && isLink(flat(object))
}

// beginsPage reports whether a text begins with a page that has a link.
func beginsPage(text io.Reader) bool {
	in := json.NewDecoder(&cleaned{text})
	in.UseNumber()
	p := &pages{in: in, text: &counted{}, met: make(fields)}
	f, _, _, err := p.link()
	return err == nil && f != nil && isLink(f)
}
