package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/engine"
	"shunt/engine/index"
)

// maxListValueBytes is the limit of a parameter's value; the longest useful value is the beginning
// of a host or a title.
const maxListValueBytes = 256

// defaultListed is the number of links on a page without the parameter limit.
const defaultListed = 50

// A ListQuery is a query for a list of links.
type ListQuery struct {
	Guard  engine.Guard // whose
	Prefix string       // of code, host or title; empty: all
	Tag    string       // empty: any
	State  engine.State // block list included; empty: any
	Limit  int          // 1 to engine.MaxListed; 0: defaultListed
	Cursor string       // of the page before; empty: from the newest on
	Unique bool         // with visitors
}

// listParameters are the parameters of a list, exportParameters those of an export; both have
// owner, too. An empty cursor, q, tag or state counts as absent.
var (
	listParameters = map[string]parameterReader[ListQuery]{
		"include": readUnique, "state": readState,
		"limit": func(q *ListQuery, value string) (err error) {
			q.Limit, err = readCount(value, engine.MaxListed)
			return err
		},
		"cursor": func(q *ListQuery, value string) error {
			q.Cursor = value
			return nil
		},
		"q": func(q *ListQuery, value string) error {
			q.Prefix = value
			return checkTextParameter(value, maxListValueBytes)
		},
		"tag": func(q *ListQuery, value string) error {
			q.Tag = value
			return checkTextParameter(value, engine.MaxTagBytes)
		},
	}
	exportParameters = map[string]parameterReader[ListQuery]{"include": readUnique}
)

func readState(q *ListQuery, value string) error {
	states := engine.States()
	if q.State = engine.State(value); value != "" && !slices.Contains(states, q.State) {
		return jsonbody.FieldError("", "range", "must be "+oneOf(states))
	}
	return nil
}

// oneOf returns the words as a choice: "a, b or c".
func oneOf[T ~string](words []T) string {
	text := string(words[0])
	for i, word := range words[1:] {
		separator := ", "
		if i == len(words)-2 {
			separator = " or "
		}
		text += separator + string(word)
	}
	return text
}

// readUnique reads a list of names; the only name is unique.
func readUnique(q *ListQuery, value string) error {
	for name := range strings.SplitSeq(value, ",") {
		if name != "unique" {
			return jsonbody.FieldError("", "range", "must be unique")
		}
	}
	q.Unique = true
	return nil
}

// ParseList reads the parameters of a list.
func ParseList(caller account.Caller, p Parameters) (ListQuery, error) {
	return parseListQuery(caller, p, listParameters)
}

// ParseExport reads the parameters of an export.
func ParseExport(caller account.Caller, p Parameters) (ListQuery, error) {
	return parseListQuery(caller, p, exportParameters)
}

func parseListQuery(caller account.Caller, p Parameters, readers map[string]parameterReader[ListQuery]) (q ListQuery, err error) {
	q.Guard, err = readParameters(caller, p, &q, readers, maxListValueBytes)
	return q, err
}

// linkQuery returns the query for the engine, beginning at the place of the cursor.
func (c *Calls) linkQuery(caller account.Caller, q *ListQuery) (engine.LinkQuery, error) {
	asked := engine.LinkQuery{Prefix: q.Prefix, Limit: cmp.Or(q.Limit, defaultListed), Unique: q.Unique}
	asked.Tag = q.Tag
	if err := mayUse(caller, q.Guard); err != nil {
		return asked, err
	}
	if asked.AnyOwner = q.Guard.AnyOwner; !asked.AnyOwner {
		asked.Owner = q.Guard.Owner
	}
	if q.State != "" {
		asked.Select = c.inState(q.State)
	}
	if q.Cursor != "" {
		below, ok := c.cursors.decode(q, q.Cursor)
		if !ok {
			return asked, errCursor
		}
		asked.Below = below
	}
	return asked, nil
}

// inState returns a function that selects the links that are in a state at this moment.
func (c *Calls) inState(state engine.State) func(index.Link) bool {
	nowMs := c.o.Now().UnixMilli()
	return func(l index.Link) bool { return c.o.StateNow(l, nowMs) == state }
}

// A Page is a page of a list of links, the newest first. It has at most as many links as were asked
// for, and may have fewer, or none, although there are more.
type Page struct {
	Links []Link
	Next  string // the cursor of the next page; empty: this is the last
}

// List reads a page and calls write with it. A page of many links is read and written in several
// turns, so that callers that ask for a few links do not wait for all of it. Once Patience is over,
// List starts no further turn, however short each wait was, because the connection would soon be
// closed. The handler must take a place with BeginHeavy before.
func (c *Calls) List(caller account.Caller, q ListQuery, write func(Page) error) error {
	asked, err := c.linkQuery(caller, &q)
	if err != nil {
		return err
	}
	turn := c.turns(caller)
	page, err := c.o.Engine.ListLinksInTurns(context.Background(), asked, turn)
	if err != nil {
		return err
	}
	return turn(func() error { return write(c.page(&q, page)) })
}

func (c *Calls) page(q *ListQuery, page engine.LinkPage) Page {
	p := Page{Links: make([]Link, 0, len(page.Links))}
	for i := range page.Links {
		if l, ok := c.listed(q, &page.Links[i]); ok {
			p.Links = append(p.Links, l)
		}
	}
	if page.Next != 0 {
		p.Next = c.cursors.encode(q, page.Next)
	}
	return p
}

// listed returns a link of a list, with its visitors if q asks for them. ok is false if the link
// left the state that q asks for after it was selected: it was edited, it expired, its last hit was
// used up, or the block list changed.
func (c *Calls) listed(q *ListQuery, d *engine.Detail) (l Link, ok bool) {
	l = c.shown(*d)
	l.Counted = q.Unique
	return l, q.State == "" || l.State == q.State
}

// linkBytes is the usual size of a link object.
const linkBytes = 512

// AppendJSON appends the answer: the links, and the cursor of the next page.
func (p *Page) AppendJSON(dst []byte) []byte {
	dst = append(slices.Grow(dst, linkBytes*(1+len(p.Links))), `{"data":[`...)
	for i := range p.Links {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.Links[i].AppendJSON(dst)
	}
	dst = append(dst, `],"next_cursor":`...)
	if p.Next == "" {
		return append(dst, "null}"...)
	}
	return append(jsontext.AppendString(dst, p.Next), '}')
}
