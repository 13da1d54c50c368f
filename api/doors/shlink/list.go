package shlink

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/when"
	"shunt/engine"
)

// A listing is a request for a list of short URLs: what package ops knows of it, and what must be done here.
type listing struct {
	ops.ListQuery
	place
	keep []func(l *ops.Link) bool // those that are not kept are not listed
	text func(l *ops.Link) string // what the list is sorted by, ListQuery.Ascending or not; nil: what ops sorts by
	code bool                     // text is the code
}

// scanned reports whether all links must be looked at for a page of l.
func (l *listing) scanned() bool { return len(l.keep) > 0 || l.text != nil }

// orders are what lists are sorted by: the orders of package ops, and texts, which it does not sort by.
var orders = map[string]struct {
	ours string
	text func(l *ops.Link) string
}{
	"dateCreated":  {ours: "created"},
	"visits":       {ours: "hits"},
	"nonBotVisits": {ours: "hits"},
	"shortCode":    {text: func(l *ops.Link) string { return l.Code }},
	"longUrl":      {text: func(l *ops.Link) string { return l.Target }},
	"title":        {text: func(l *ops.Link) string { return l.Title }},
}

// readListing reads the parameters of a list. empty reports that no link can be in it: it is of a domain that is not
// there.
func (d *Door) readListing(caller account.Caller, q query) (l listing, empty bool, err error) {
	host := d.hostOf(q.one("domain"))
	if l.place, err = readPlace(q, defaultItems, engine.MaxListed); err != nil || !d.serves(host) {
		return l, err == nil, err
	}
	tags := q.many("tags")
	asked := query(nil).with("domain", host).with("q", q.one("searchTerm"))
	if len(tags) == 1 || len(tags) > 1 && q.one("tagsMode") == "all" {
		asked = asked.with("tag", tags[0])
	}
	if l.ListQuery, err = d.Ops.ParseList(caller, asked); err != nil {
		return l, false, err
	}
	if err = l.readOrder(q.one("orderBy")); err == nil {
		l.From, l.To, err = readRange(q)
	}
	if err == nil && q.one("apiKeyName") != "" {
		err = jsonbody.FieldError("apiKeyName", "unknown", "must be left out: links are not listed by keys here")
	}
	l.choose(q, tags)
	return l, false, err
}

// readOrder reads orderBy: a field, and perhaps -ASC or -DESC. Without one, the newest come first.
func (l *listing) readOrder(text string) error {
	if text == "" {
		return nil
	}
	name, direction, directed := strings.Cut(text, "-")
	o, found := orders[name]
	if !found || directed && direction != "ASC" && direction != "DESC" {
		return jsonbody.FieldError("orderBy", "range", "must be dateCreated, shortCode, longUrl, title, visits or nonBotVisits, and -ASC or -DESC")
	}
	l.Order, l.text, l.Ascending, l.code = o.ours, o.text, direction != "DESC", name == "shortCode"
	return nil
}

// readRange reads startDate and endDate; the zero time: no bound. Shlink's times have seconds, and its range has its
// end.
func readRange(q query) (from, to time.Time, err error) {
	if from, err = readDate(q, "startDate", when.Begin); err != nil {
		return from, to, err
	}
	to, err = readDate(q, "endDate", when.End)
	if text := q.one("endDate"); err == nil && len(text) > len(time.DateOnly) {
		to = to.Add(time.Second)
	}
	return from, to, err
}

func readDate(q query, name string, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	text := q.one(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, ok := read(strings.Replace(text, " ", "+", 1), time.UTC) // people forget to encode the + of an offset
	if !ok {
		return t, jsonbody.FieldError(name, "format", "must be a time such as 2026-11-21T12:00:00+00:00, or a date")
	}
	return t, nil
}

// choose adds what decides here which links are in the list.
func (l *listing) choose(q query, tags []string) {
	all, without, allWithout := q.one("tagsMode") == "all", q.many("excludeTags"), q.one("excludeTagsMode") == "all"
	if len(tags) > 1 {
		l.keep = append(l.keep, func(l *ops.Link) bool { return hasTags(l, tags, all) })
	}
	if len(without) > 0 {
		l.keep = append(l.keep, func(l *ops.Link) bool { return !hasTags(l, without, allWithout) })
	}
	if q.yes("excludeMaxVisitsReached") {
		l.keep = append(l.keep, func(l *ops.Link) bool { return l.MaxHits == 0 || l.Hits < l.MaxHits })
	}
	if q.yes("excludePastValidUntil") {
		l.keep = append(l.keep, func(l *ops.Link) bool { return l.State != engine.StateExpired })
	}
}

// hasTags reports whether a link has all of tags, or one of them.
func hasTags(l *ops.Link, tags []string, all bool) bool {
	for _, tag := range tags {
		if engine.HasTag(l.Tags, tag) != all {
			return !all
		}
	}
	return all
}

// list is GET /short-urls.
func (d *Door) list(a *asked, caller account.Caller) error {
	l, empty, err := d.readListing(caller, a.query)
	if err != nil {
		return err
	}
	answer := Paged[ShortURL]{Data: []ShortURL{}}
	switch {
	case empty:
		answer.Pagination = l.in(0, 0)
	case l.scanned():
		if err = d.scannedPage(caller, &l, &answer); errors.Is(err, errTooMany) && l.code && len(l.keep) == 0 {
			l.Order = ops.ByCode
			err = d.pageOf(caller, &l, &answer)
		}
	default:
		err = d.pageOf(caller, &l, &answer)
	}
	if err != nil {
		return err
	}
	return show(a, map[string]any{"shortUrls": answer})
}

// pageOf reads a page of a list that package ops sorts and chooses.
func (d *Door) pageOf(caller account.Caller, l *listing, answer *Paged[ShortURL]) error {
	skip, q := l.begin(), l.ListQuery
	next := skip + l.items
	if next > maxDepth {
		if q.Cursor = d.ends.cursor(endOf(caller, &l.ListQuery, skip)); q.Cursor == "" {
			return jsonbody.FieldError("page", "range", "must end within the first 10,000 short URLs of the list, or follow a page that was just read; ask with a startDate, an endDate, tags or a searchTerm")
		}
		skip = 0
	}
	total, end, err := d.walk(caller, q, skip+l.items, func(l *ops.Link) {
		if skip--; skip < 0 {
			answer.Data = append(answer.Data, shortURL(l))
		}
	})
	if end != "" && next+l.items > maxDepth {
		d.ends.keep(endOf(caller, &l.ListQuery, next), end)
	}
	answer.Pagination = l.in(total, len(answer.Data))
	return err
}

// walk calls do for the first most links of a list, or for those after its cursor, in its order. It returns how many
// links the list has, and the cursor of what follows; empty: nothing does.
func (d *Door) walk(caller account.Caller, q ops.ListQuery, most int, do func(*ops.Link)) (total uint64, end string, err error) {
	q.Total = true
	err = door.EachPage(func() (more bool, err error) {
		q.Limit = min(most, engine.MaxListed)
		err = d.Ops.List(caller, q, func(page ops.Page) error {
			for i := range page.Links {
				do(&page.Links[i])
			}
			if page.Total != nil {
				total = *page.Total
			}
			most -= len(page.Links)
			q.Cursor, q.Total = page.Next, false
			return nil
		})
		return q.Cursor != "" && most > 0, err
	})
	return total, q.Cursor, err
}

// errTooMany is the error of a list that is sorted or chosen in memory and is too long for that.
var errTooMany = fmt.Errorf("scan: %w", problem.New(problem.BadRequest, "this takes at most 10,000 short URLs, and there are more; "+
	"lists by dateCreated, shortCode or visits, and those of one tag, have no such limit on how many there are")) // problems cannot be compared

// scan calls do for all links of a list, if they are not too many. Few scans run at once.
func (d *Door) scan(caller account.Caller, q ops.ListQuery, do func(*ops.Link)) error {
	if err := d.scans.EnterPatiently(ops.KeyOf(caller), maxScansWait, door.Patience); err != nil {
		return problem.New(problem.Overloaded, "too many lists are being sorted; try again")
	}
	defer d.scans.Leave(ops.KeyOf(caller))
	one := q
	one.Limit, one.Total = 1, true
	total := uint64(0)
	err := d.Ops.List(caller, one, func(page ops.Page) error {
		total = *page.Total
		return nil
	})
	if err == nil && total > maxDepth {
		err = errTooMany
	}
	if err != nil {
		return err
	}
	_, _, err = d.walk(caller, q, maxDepth, do)
	return err
}

// scannedPage reads a page of a list of which all links must be looked at.
func (d *Door) scannedPage(caller account.Caller, l *listing, answer *Paged[ShortURL]) error {
	type row struct {
		text  string
		shown ShortURL
	}
	var rows []row
	err := d.scan(caller, l.ListQuery, func(link *ops.Link) {
		if slices.ContainsFunc(l.keep, func(keep func(*ops.Link) bool) bool { return !keep(link) }) {
			return
		}
		r := row{shown: shortURL(link)}
		if l.text != nil {
			r.text = l.text(link)
		}
		rows = append(rows, r)
	})
	if err != nil {
		return err
	}
	if l.text != nil {
		slices.SortStableFunc(rows, func(a, b row) int {
			if l.Ascending {
				return cmp.Compare(a.text, b.text)
			}
			return cmp.Compare(b.text, a.text)
		})
	}
	page, pagination := cut(l.place, rows)
	for i := range page {
		answer.Data = append(answer.Data, page[i].shown)
	}
	answer.Pagination = pagination
	return nil
}
