package ops

import "shunt/engine"

// A Link is a link as its owner sees it, with the values that the engine does not know. Its State
// may be blocked.
type Link struct {
	engine.Detail
	ShortURL string
	Counted  bool // Unique is known
}

// AppendJSON appends the link object: the fields of the table, in its order. The bytes are those
// that encoding/json would write without escapes of HTML. It does not use encoding/json, because
// lists have up to 1,000 links.
func (l *Link) AppendJSON(dst []byte) []byte {
	separator := byte('{')
	for i := range table {
		f := &table[i]
		if f.write == nil || f.omitted != nil && f.omitted(l) {
			continue
		}
		dst = append(append(append(dst, separator, '"'), f.name...), `":`...)
		dst = f.write(dst, l)
		separator = ','
	}
	return append(dst, '}')
}

// shown returns link d as its owner sees it.
func (c *Calls) shown(d engine.Detail) Link {
	d.State = c.state(&d)
	return Link{Detail: d, ShortURL: c.baseURL + "/" + d.Code}
}

// counted returns link d with its visitors.
func (c *Calls) counted(d engine.Detail) Link {
	l := c.shown(d)
	l.Counted = true
	return l
}
