package ops

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/problem"
	"shunt/api/when"
	"shunt/engine"
	"shunt/engine/index"
	"shunt/engine/search"
)

// defaultListed is the number of links on a page without the parameter limit.
const defaultListed = 50

// A ListQuery is a query for a list of links.
type ListQuery struct {
	Whose  Whose  // whose
	Limit  int    // 1 to engine.MaxListed; 0: defaultListed
	Cursor string // of the page before; empty: from the first on
	Unique bool   // with visitors
	Summed bool   // with visitors as they were summed up by Page.AsOf, which costs little; not a parameter
	Total  bool   // with the number of links of all pages
	Hashes bool   // of an export: with the hashes of passwords, for admins
	Daily  bool   // of an export: with the hits of each day

	Listed
}

// Listed says which links a list has, and in which order.
type Listed struct {
	Q         string       // words, or an address; empty: all
	Tag       string       // empty: any
	Folder    uint32       // 0: any, or none; else all links in it, whoever's they are
	State     engine.State // block list included; empty: any
	From, To  time.Time    // only those that were created from From on and before To; the zero time: no bound
	NeverHit  bool         // only those without a hit
	Order     string       // one of Orders, or ByCode; empty: the newest first
	Ascending bool
}

// order is what a list is sorted by.
type order struct {
	name string
	by   engine.Order
}

var orders = []order{
	{"created", engine.ByCreation}, {"updated", engine.ByUpdate}, {"hits", engine.ByHits}, {"relevance", engine.ByRelevance},
	{"visitors", engine.ByVisitors}, {"last_hit", engine.ByLastHit}, {ByCode, engine.ByCode},
}

// ByCode is a Listed.Order that is no parameter: by the first 8 bytes of codes, which are all of a drawn one.
const ByCode = "code"

// Orders are the names of what a list can be sorted by.
func Orders() (names []string) {
	for _, o := range orders {
		if o.name != ByCode {
			names = append(names, o.name)
		}
	}
	return names
}

// filterParameters say which links a list or an export has, listParameters are the others of a list, exportParameters
// those of an export; both have owner, too. An empty value counts as absent, but of the folder of an export.
var (
	filterParameters = map[string]parameterReader[ListQuery]{
		"state": readState,
		"q": func(q *ListQuery, value string) error {
			q.Q = value
			if _, ok := search.Parse(value); !ok {
				return jsonbody.FieldError("", "too_long", "must be at most "+strconv.Itoa(search.MaxWords)+" words")
			}
			return checkTextParameter(value, search.MaxQueryBytes)
		},
		"tag": func(q *ListQuery, value string) error {
			q.Tag = value
			return checkTextParameter(value, engine.MaxTagBytes)
		},
		"created_from": func(q *ListQuery, value string) error { return readListMoment(&q.From, value, when.Begin) },
		"created_to":   func(q *ListQuery, value string) error { return readListMoment(&q.To, value, when.End) },
		"never_hit":    func(q *ListQuery, value string) error { return readYes(&q.NeverHit, value) },
	}
	listParameters = filtered(map[string]parameterReader[ListQuery]{
		"include": readUnique,
		"limit": func(q *ListQuery, value string) (err error) {
			q.Limit, err = readCount(value, engine.MaxListed)
			return err
		},
		"cursor": func(q *ListQuery, value string) error {
			q.Cursor = value
			return nil
		},
		"folder": readListFolder,
		"total":  func(q *ListQuery, value string) error { return readYes(&q.Total, value) },
		"sort":   readSort,
		"order":  readOrder,
	})
	exportParameters = filtered(map[string]parameterReader[ListQuery]{"include": readExported, "folder": readExportedFolder})
)

// filtered returns readers together with those of filters.
func filtered(readers map[string]parameterReader[ListQuery]) map[string]parameterReader[ListQuery] {
	maps.Copy(readers, filterParameters)
	return readers
}

// readListMoment reads a bound of the time of creation.
func readListMoment(to *time.Time, value string, read func(string, *time.Location) (time.Time, bool)) (err error) {
	if value == "" {
		return nil
	}
	*to, err = readMoment(value, read)
	return err
}

// readYes reads a parameter that asks for something.
func readYes(to *bool, value string) error {
	if *to = value == "true"; !*to && value != "" && value != "false" {
		return jsonbody.FieldError("", "range", "must be true or false")
	}
	return nil
}

// readListFolder reads the folder whose links a list has.
func readListFolder(q *ListQuery, value string) error {
	if value == "" {
		return nil
	}
	return readNumbered(&q.Folder, value)
}

// readExportedFolder is readListFolder for an export, where an empty value is an error: it would be an export of
// something else.
func readExportedFolder(q *ListQuery, value string) error { return readNumbered(&q.Folder, value) }

// readNumbered reads the number of a folder.
func readNumbered(to *uint32, value string) error {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n == 0 {
		return jsonbody.FieldError("", "range", "must be the number of a folder")
	}
	*to = uint32(n)
	return nil
}

func readSort(q *ListQuery, value string) error {
	if q.Order = value; value != "" && !slices.Contains(Orders(), value) {
		return jsonbody.FieldError("", "range", "must be "+oneOf(Orders()))
	}
	return nil
}

func readOrder(q *ListQuery, value string) error {
	if q.Ascending = value == "asc"; !q.Ascending && value != "" && value != "desc" {
		return jsonbody.FieldError("", "range", "must be asc or desc")
	}
	return nil
}

func readState(q *ListQuery, value string) error {
	states := append(engine.States(), engine.StateDeleted)
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

// readExported is readUnique for an export, which also knows daily and password_hash.
func readExported(q *ListQuery, value string) error {
	for name := range strings.SplitSeq(value, ",") {
		switch name {
		case "unique":
			q.Unique = true
		case "password_hash":
			q.Hashes = true
		case "daily":
			q.Daily = true
		default:
			return jsonbody.FieldError("", "range", "must be unique, daily or password_hash")
		}
	}
	return nil
}

// ParseList reads the parameters of a list.
func (c *Calls) ParseList(caller account.Caller, p Parameters) (ListQuery, error) {
	q, err := parseListQuery(c, caller, p, listParameters)
	if err == nil && q.State == engine.StateDeleted {
		err = q.checkTrash()
	}
	return q, err
}

// checkTrash refuses what a list of the trash cannot do: it has one order, and nothing in it is looked for.
func (q *ListQuery) checkTrash() error {
	for _, p := range []struct {
		name string
		sent bool
	}{
		{"q", q.Q != ""}, {"tag", q.Tag != ""}, {"created_from", !q.From.IsZero()}, {"created_to", !q.To.IsZero()}, {"never_hit", q.NeverHit},
		{"folder", q.Folder != 0}, {"sort", q.Order != ""}, {"order", q.Ascending}, {"total", q.Total}, {"include", q.Unique},
	} {
		if p.sent {
			return jsonbody.FieldError(p.name, codeConflict, "does not go with state=deleted")
		}
	}
	return nil
}

// ParseExport reads the parameters of an export.
func (c *Calls) ParseExport(caller account.Caller, p Parameters) (ListQuery, error) {
	q, err := parseListQuery(c, caller, p, exportParameters)
	if err == nil && q.Hashes && !caller.Has(account.Admin) {
		err = problem.New(problem.Forbidden, "include=password_hash needs the scope %s", account.Admin)
	}
	return q, err
}

func parseListQuery(c *Calls, caller account.Caller, p Parameters, readers map[string]parameterReader[ListQuery]) (q ListQuery, err error) {
	q.Whose, err = readParameters(c, caller, p, &q, readers, search.MaxQueryBytes)
	return q, err
}

// linkQuery returns the query for the engine, beginning at the place of the cursor.
func (c *Calls) linkQuery(caller account.Caller, q *ListQuery) (asked engine.LinkQuery, err error) {
	if err := mayUse(caller, q.Whose); err != nil {
		return asked, err
	}
	asked.Limit, asked.Unique, asked.Total, asked.Ascending = cmp.Or(q.Limit, defaultListed), q.Unique, q.Total, q.Ascending
	asked.Summed = q.Summed
	whose := q.Whose
	if asked.Folder, asked.Tag = q.Folder, q.Tag; q.Folder != 0 {
		if err := c.mayList(caller, q); err != nil {
			return asked, err
		}
		whose.Anybody = true
	}
	if asked.Owners, asked.AnyOwner, err = c.linkOwners(caller.Domains, whose); err != nil {
		return asked, err
	}
	if i := slices.IndexFunc(orders, func(o order) bool { return o.name == q.Order }); i >= 0 {
		asked.Order = orders[i].by
	}
	c.narrow(&asked, &q.Listed, c.codeDomains(caller, q.Whose))
	if q.Cursor != "" {
		after, ok := c.cursors.decode(q, q.Cursor)
		if !ok {
			return asked, errCursor
		}
		asked.After = &after
	}
	return asked, nil
}

// codeDomains returns the domains in which a code that w asks for may be, the one that the caller means without a name
// first.
func (c *Calls) codeDomains(caller account.Caller, w Whose) []engine.Domain {
	in := []engine.Domain{w.Domain}
	if w.Every {
		for _, d := range c.DomainsOf(caller) {
			if d.Number != w.Domain {
				in = append(in, d.Number)
			}
		}
	}
	return in
}

// narrow makes asked want only the links, codes of some domains first, that have the words, the state, the time of
// creation and the hits.
func (c *Calls) narrow(asked *engine.LinkQuery, l *Listed, in []engine.Domain) {
	words, key := c.looksFor(l.Q)
	asked.Words, _ = search.Parse(words)
	if asked.Code = key; key.Code == "" {
		asked.Code, asked.CodeIn = engine.Key{Domain: in[0], Code: words}, in
	}
	if !l.From.IsZero() {
		asked.CreatedFromMs = cmp.Or(l.From.UnixMilli(), 1)
	}
	if !l.To.IsZero() {
		asked.CreatedBeforeMs = cmp.Or(l.To.UnixMilli(), -1)
	}
	if l.State != "" {
		asked.Judge, asked.Select = c.inState(l.State)
	}
	if l.NeverHit {
		asked.WantHits = func(hits uint64) bool { return hits == 0 }
	}
}

// looksFor returns the words of what somebody typed: of a short address they are the code, and key is that of its link.
func (c *Calls) looksFor(typed string) (words string, key engine.Key) {
	words = strings.TrimSpace(typed)
	if key, ok := c.shortAddress(words); ok {
		return key.Code, key
	}
	if _, _, ok := strings.Cut(words, "://"); ok {
		return storedAddress(words), engine.Key{}
	}
	return words, engine.Key{}
}

// shortAddress returns the key of the link whose short address text may be.
func (c *Calls) shortAddress(text string) (key engine.Key, ok bool) {
	if scheme, rest, ok := strings.Cut(text, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		text = rest
	}
	authority, code, _ := strings.Cut(text, "/")
	d := c.o.Domains.Default()
	if host, err := engine.HostName(authority); err == nil && c.o.Domains.Registered(host) {
		d, _ = c.o.Domains.Named(host)
	} else if !strings.EqualFold(authority, d.Host) {
		return key, false
	}
	code, _, _ = strings.Cut(code, "?")
	key = engine.Key{Domain: d.Number, Code: strings.TrimRight(strings.TrimSuffix(code, "+"), "/")}
	return key, key.View().Valid() && !engine.Reserved([]byte(key.Code))
}

// storedAddress returns a pasted address as texts of links have it: its host in ASCII, and no slash at its end, which
// the stored one may lack. Bytes beyond ASCII are stored as they were typed, or percent-encoded as browsers show them.
// A text has both without the encoding, so an address with such bytes is looked for like that.
func storedAddress(pasted string) string {
	pasted = strings.TrimRight(pasted, "/")
	u, err := url.Parse(pasted)
	if err != nil || u.Hostname() == "" {
		return pasted
	}
	if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil {
		pasted = strings.Replace(pasted, u.Hostname(), host, 1)
	}
	plain := search.Decoded(pasted)
	if _, few := search.Parse(plain); few && strings.ContainsFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return plain
	}
	return pasted
}

// inState returns functions that choose the links that are in a state at this moment: judge by flags and times, which
// rows have, too, and choose by what memory has of them, which takes three times as long. Only memory has targets,
// which the block list is asked about, and the hits of a capped link.
func (c *Calls) inState(state engine.State) (judge func(*engine.LinkEntry) engine.Choice, choose func(index.Link) bool) {
	nowMs := c.o.Now().UnixMilli()
	blocks := c.o.Targets.Blocked != nil && c.o.Targets.Blocked.Len() > 0
	judge = func(e *engine.LinkEntry) engine.Choice {
		could := engine.StateActive // the state, or else StateBlocked
		switch {
		case e.Flags&engine.FlagDisabled != 0:
			could = engine.StateDisabled
		case e.Flags&engine.FlagExpires != 0 && e.ExpiresAtMs <= nowMs:
			could = engine.StateExpired
		case e.Flags&engine.FlagCapped != 0 && (state == engine.StateActive || state == engine.StateExhausted || state == engine.StateScheduled):
			return engine.Unsure
		case nowMs < e.StartsAtMs:
			could = engine.StateScheduled
		}
		switch {
		case blocks && (could == state || state == engine.StateBlocked):
			return engine.Unsure
		case could == state:
			return engine.Wanted
		}
		return engine.Unwanted
	}
	return judge, func(l index.Link) bool { return c.o.StateNow(l, nowMs) == state }
}

// A Page is a page of a list of links. It has at most as many links as were asked
// for, and may have fewer although there are more.
type Page struct {
	Links []Link
	Next  string    // the cursor of the next page; empty: this is the last
	Total *uint64   // links of all pages; nil: they were not asked for
	AsOf  time.Time // all hits before then are in what the links are sorted by, and in what was summed up; the zero time: all is of the moment
}

// List reads a page and calls write with it. A page of many links is read and written in several
// turns, so that callers that ask for a few links do not wait for all of it. Once Patience is over,
// List starts no further turn, however short each wait was, because the connection would soon be
// closed. The handler must take a place with BeginHeavy before.
func (c *Calls) List(caller account.Caller, q ListQuery, write func(Page) error) error {
	if q.State == engine.StateDeleted {
		return c.listTrash(caller, q, write)
	}
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

// listTrash is List for the trash, the last deletion first.
func (c *Calls) listTrash(caller account.Caller, q ListQuery, write func(Page) error) error {
	if err := mayUse(caller, q.Whose); err != nil {
		return err
	}
	asked := engine.TrashQuery{In: engine.AllOwners, User: q.Whose.User, Limit: cmp.Or(q.Limit, defaultListed)}
	asked.May = func(owner uint32) bool { return caller.Domains.Has(engine.DomainOf(owner)) }
	if q.Whose.Anybody {
		asked.User = 0
	}
	if !q.Whose.Every {
		asked.In = engine.AllIn(q.Whose.Domain)
	}
	if q.Cursor != "" {
		after, ok := c.cursors.decode(&q, q.Cursor)
		if !ok {
			return errCursor
		}
		asked.After = &after
	}
	turn := c.turns(caller)
	page, err := c.o.Engine.ListTrash(context.Background(), asked, turn)
	if err != nil {
		return err
	}
	return turn(func() error { return write(c.page(&q, page)) })
}

func (c *Calls) page(q *ListQuery, page engine.LinkPage) Page {
	p := Page{Links: c.listedOf(q, page.Links)}
	if page.Next != nil {
		p.Next = c.cursors.encode(q, *page.Next)
	}
	if q.Total {
		p.Total = &page.Total
	}
	if page.AsOfHour != 0 {
		p.AsOf = time.Unix(int64(page.AsOfHour)*int64(time.Hour/time.Second), 0).UTC()
	}
	return p
}

// listed makes l link d of a list, with its visitors if q asks for them. It reports false if the link
// left the state that q asks for after it was selected: it was edited, it expired, its last hit was
// used up, or the block list changed.
func (c *Calls) listed(q *ListQuery, l *Link, d *engine.Detail) bool {
	*l = Link{Counted: q.Unique, WithHash: q.Hashes}
	c.show(l, d)
	return q.State == "" || l.State == q.State
}

// listedOf returns the links of details that are in a list.
func (c *Calls) listedOf(q *ListQuery, details []engine.Detail) []Link {
	links := make([]Link, len(details))
	n := 0
	for i := range details {
		if c.listed(q, &links[n], &details[i]) {
			n++
		}
	}
	return links[:n]
}

// linkBytes is the usual size of a link object.
const linkBytes = 640

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
		dst = append(dst, "null"...)
	} else {
		dst = jsontext.AppendString(dst, p.Next)
	}
	if p.Total != nil {
		dst = strconv.AppendUint(append(dst, `,"total":`...), *p.Total, 10)
	}
	if !p.AsOf.IsZero() {
		dst = jsontext.AppendTime(append(dst, `,"as_of":`...), p.AsOf)
	}
	return append(dst, '}')
}
