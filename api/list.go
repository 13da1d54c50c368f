package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/turnstile"
	"shunt/engine"
)

// maxListValueBytes bounds the value of a parameter: the longest that means something is the beginning of a host or a title.
const maxListValueBytes = 256

// defaultListed is how many links a page has unless limit says otherwise.
const defaultListed = 50

// listQuery is what a request asks of a list of links.
type listQuery struct {
	engine.LinkQuery
	cursor string
}

// listParameters are the parameters of GET /links, exportParameters those of GET /export; both know owner too. An empty
// cursor, q or tag is as good as none.
var (
	listParameters = map[string]parameterReader[listQuery]{
		"limit": readLimit, "include": readUnique,
		"cursor": func(q *listQuery, value string) error {
			q.cursor = value
			return nil
		},
		"q": func(q *listQuery, value string) error {
			q.Prefix = value
			return checkTextParameter(value, maxListValueBytes)
		},
		"tag": func(q *listQuery, value string) error {
			q.Tag = value
			return checkTextParameter(value, engine.MaxTagBytes)
		},
	}
	exportParameters = map[string]parameterReader[listQuery]{"include": readUnique}
)

func readLimit(q *listQuery, value string) error {
	n, err := strconv.ParseUint(value, 10, 16) // takes no sign
	if err != nil || n < 1 || n > engine.MaxListed {
		return fieldError("", "range", "must be 1 to "+strconv.Itoa(engine.MaxListed))
	}
	q.Limit = int(n)
	return nil
}

// readUnique reads a list of names, of which there is one.
func readUnique(q *listQuery, value string) error {
	for name := range strings.SplitSeq(value, ",") {
		if name != "unique" {
			return fieldError("", "range", "must be unique")
		}
	}
	q.Unique = true
	return nil
}

// readListQuery reads the query parameters.
func (s *Server) readListQuery(
	ctx *fasthttp.RequestCtx, caller account.Caller, readers map[string]parameterReader[listQuery],
) (engine.LinkQuery, engine.Guard, error) {
	q := listQuery{LinkQuery: engine.LinkQuery{Limit: defaultListed}}
	guard, err := readParameters(ctx, caller, &q, readers, maxListValueBytes)
	if err != nil {
		return q.LinkQuery, guard, err
	}
	if q.AnyOwner = guard.AnyOwner; !q.AnyOwner {
		q.Owner = guard.Owner
	}
	if q.cursor != "" {
		below, ok := s.cursors.decode(&q.LinkQuery, q.cursor)
		if !ok {
			return q.LinkQuery, guard, errCursor
		}
		q.Below = below
	}
	return q.LinkQuery, guard, nil
}

// listLinks is GET /links. A page of many links is read, and written, in several turns, so that
// others who ask for a few do not wait for all of it. When costlyPatience is over, no more of it is
// begun, however short each wait was: the sweep would soon end the connection.
func (s *Server) listLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, _, err := s.readListQuery(ctx, caller, listParameters)
	if err != nil {
		return err
	}
	end := s.clock().Add(costlyPatience)
	turn := func(step func() error) error {
		if s.clock().After(end) {
			return turnstile.ErrFull
		}
		return s.cores.Do(keyOf(caller), step)
	}
	page, err := s.engine.ListLinksInTurns(context.Background(), q, turn)
	if err != nil {
		return err
	}
	return turn(func() error { return s.writeList(ctx, &q, page) })
}

// linkBytes is what a link object takes as a rule.
const linkBytes = 512

func (s *Server) writeList(ctx *fasthttp.RequestCtx, q *engine.LinkQuery, page engine.LinkPage) error {
	text := append(make([]byte, 0, linkBytes*(1+len(page.Links))), `{"data":[`...)
	for i := range page.Links {
		if i > 0 {
			text = append(text, ',')
		}
		l := s.listed(q, &page.Links[i])
		text = l.AppendJSON(text)
	}
	text = append(text, `],"next_cursor":`...)
	if page.Next != 0 {
		text = appendString(text, s.cursors.encode(q, page.Next))
	} else {
		text = append(text, "null"...)
	}
	return writeEncoded(ctx, fasthttp.StatusOK, append(text, "}\n"...))
}

// listed is a link of a list, with its visitors if q asks for them.
func (s *Server) listed(q *engine.LinkQuery, d *engine.Detail) Link {
	l := s.shown(*d)
	l.Counted = q.Unique
	return l
}
