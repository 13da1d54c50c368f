package ops

import (
	"shunt/api/account"
	"shunt/api/qrorder"
	"shunt/api/rules"
	"shunt/engine"
	"shunt/engine/daily"
)

// A Link is a link as its owner sees it, with the values that the engine does not know. Its State
// may be blocked.
type Link struct {
	engine.Detail        // but Owner is the user's number
	Host          string // of the domain; empty: the default one
	ShortURL      string
	Warnings      []engine.FieldError // see warned
	Counted       bool                // Unique is known
	WithHash      bool                // the link object has the hash of its password
	WithDaily     bool                // the link object has its hits by day
	Daily         []daily.Hits        // those
}

// AppendJSON appends the link object: the fields of the table, in its order. The bytes are those
// that encoding/json would write without escapes of HTML. It does not use encoding/json, because
// lists have up to 1,000 links.
func (l *Link) AppendJSON(dst []byte) []byte {
	begin := len(dst)
	for i := range table {
		f := &table[i]
		if f.write == nil || f.omitted != nil && f.omitted(l) {
			continue
		}
		dst = f.write(append(dst, f.key...), l)
	}
	dst[begin] = '{' // instead of a comma
	return append(dst, '}')
}

// shown returns link d as its owner sees it.
func (c *Calls) shown(d engine.Detail) (l Link) {
	c.show(&l, &d)
	return l
}

// show makes l, which is empty, link d as its owner sees it.
func (c *Calls) show(l *Link, d *engine.Detail) {
	l.Detail = *d
	l.Owner = engine.UserOf(d.Owner)
	if l.Folder != 0 && c.o.Folders.Numbered(l.Folder) == nil { // it was removed while the link came into it
		l.Folder = 0
	}
	l.Host, l.ShortURL = c.HostIn(d.Domain), c.o.Domains.ShortURL(d.Domain, d.Code)
	if d.State != engine.StateDeleted {
		l.State = c.o.State(&l.Detail)
	}
}

// warned is link l in the answer to the one who has made or changed it: with its conditions that no request meets. In
// lists and in what is read later they would only be noise.
func (c *Calls) warned(l Link) Link {
	c.warn(&l)
	return l
}

func (c *Calls) warn(l *Link) {
	if len(l.Rules) > 0 {
		l.Warnings = rules.Warnings(l.Rules, c.o.Countries, c.o.Now())
	}
}

// QRCode draws the QR code of the link that code names, if w admits it, in turn with other costly work. The link need
// not redirect. logo is the file of a picture in the middle; nil: none.
func (c *Calls) QRCode(caller account.Caller, code string, w Whose, o *qrorder.Order, logo []byte) (picture []byte, err error) {
	l, err := c.Read(caller, code, w)
	if err != nil {
		return nil, err
	}
	err = c.InTurn(caller, func() (err error) {
		if logo != nil {
			if err := o.AddLogo(logo); err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return err
			}
		}
		picture, err = o.Draw(l.ShortURL)
		return err
	})
	return picture, err
}

// counted returns link d with its visitors.
func (c *Calls) counted(d engine.Detail) Link {
	l := c.shown(d)
	l.Counted = true
	return l
}
