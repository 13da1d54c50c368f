package dashboard

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// listed is how many links a page has, as text for the call.
const listed = "50"

// shownTags is how many tags of a link the list shows.
const shownTags = 3

// linksView is what the page of links shows.
type linksView struct {
	Form  linkForm  // creates a link
	Made  *ops.Link // the link that was made before; nil: none
	Works bool      // Made redirects, so it has a QR code

	Search linkSearch
	Admin  bool
	Owner  *ownerChoice // nil: the visitor has none
	States []engine.State
	Sorts  []linkSort
	Rows   []linkRow
	Owners bool      // each row names its owner
	Total  *uint64   // links of all pages; nil: they were not counted
	AsOf   time.Time // see ops.Page
	Error  string    // why there is no list
	Pager  pager
}

// A linkSearch is what the list is asked for.
type linkSearch struct {
	Q, Tag, State string
	From, To      string // days of creation
	NeverHit      string // "true", or empty
	Sort          string // the name of a linkSort
	Owner         string // empty: the visitor
}

// A linkSort is an order of the list.
type linkSort struct {
	Name        string // in the address
	Title       string
	sort, order string // of the call
}

// linkSorts are the orders of the list; the first is that of an address without one.
var linkSorts = []linkSort{
	{"", "newest first", "", ""}, {"oldest", "oldest first", "created", "asc"}, {"changed", "last changed", "updated", ""},
	{"hits", "most hits", "hits", ""}, {"least", "fewest hits", "hits", "asc"}, {"visitors", "most visitors", "visitors", ""},
	{"last-hit", "last hit", "last_hit", ""}, {"match", "best match", "relevance", ""},
}

// order returns the order that s asks for; the first one if there is none of that name.
func (s *linkSearch) order() linkSort {
	i := slices.IndexFunc(linkSorts, func(o linkSort) bool { return o.Name == s.Sort })
	return linkSorts[max(i, 0)]
}

// A chip is a filter of the list, and the address of the list without it.
type chip struct{ Text, Path string }

// Chips returns the filters of s.
func (s *linkSearch) Chips() (all []chip) {
	for _, f := range []struct {
		words string
		of    func(*linkSearch) *string
	}{
		{"words: ", func(s *linkSearch) *string { return &s.Q }}, {"tag: ", func(s *linkSearch) *string { return &s.Tag }},
		{"state: ", func(s *linkSearch) *string { return &s.State }}, {"created from ", func(s *linkSearch) *string { return &s.From }},
		{"created until ", func(s *linkSearch) *string { return &s.To }}, {"never hit", func(s *linkSearch) *string { return &s.NeverHit }},
	} {
		value := *f.of(s)
		if value == "" {
			continue
		}
		without := *s
		*f.of(&without) = ""
		if f.words == "never hit" {
			value = ""
		}
		all = append(all, chip{f.words + value, without.address()})
	}
	return all
}

// SortedBy returns the address of the list in the order of that name.
func (s *linkSearch) SortedBy(name string) string {
	sorted := *s
	sorted.Sort = name
	return sorted.address()
}

// A linkRow is a link in the list.
type linkRow struct {
	ops.Link
	Scheme     string         // of the short address, with ://
	Site       string         // its host
	Path       string         // of the link's page
	Edit       string         // of the page that edits it
	Tags       []visit.Option // the first tags; each leads to the links with it
	MoreTags   int
	Host, Rest string // of the target
	OwnerName  string
}

// Say returns how many links the page has, to be read aloud while somebody searches.
func (v *linksView) Say() string {
	switch {
	case v.Error != "":
		return v.Error
	case len(v.Rows) == 0:
		return "nothing found"
	case v.Total != nil:
		return visit.Plural(*v.Total, "link", "links")
	case v.Pager.Older != "":
		return visit.Plural(uint64(len(v.Rows)), "link", "links") + ", and more on the next page"
	}
	return visit.Plural(uint64(len(v.Rows)), "link", "links")
}

// Empty reports whether the list is of everything.
func (s *linkSearch) Empty() bool {
	return s.Q == "" && s.Tag == "" && s.State == "" && s.From == "" && s.To == "" && s.NeverHit == ""
}

// address returns the address of the list, with more parameters; empty ones are left out.
func (s *linkSearch) address(pairs ...string) string {
	return visit.Address(linksPath, append(pairs, "q", s.Q, "tag", s.Tag, "state", s.State, "created_from", s.From, "created_to", s.To,
		"never_hit", s.NeverHit, "sort", s.Sort, "owner", s.Owner)...)
}

// Cleared returns the address of the list of everything.
func (s *linkSearch) Cleared() string { return (&linkSearch{Owner: s.Owner}).address() }

// links is GET /_/links.
func (r *request) links() error {
	form, err := r.newForm(linksPath, nil)
	if err != nil {
		return err
	}
	owner, choice, err := r.ownerAsked()
	if err != nil {
		return err
	}
	view := linksView{
		Owner: choice,
		Form:  form, Admin: r.Admin(), States: engine.States(), Sorts: linkSorts,
		Search: linkSearch{
			Q: strings.TrimSpace(r.Query("q")), Tag: strings.TrimSpace(r.Query("tag")), State: r.Query("state"),
			From: r.Query("created_from"), To: r.Query("created_to"), NeverHit: r.Query("never_hit"), Sort: r.Query("sort"), Owner: owner,
		},
	}
	view.Pager = r.pager(&view.Search)
	status, err := r.listLinks(&view)
	if err != nil {
		return err
	}
	if err := r.showMade(&view); err != nil {
		return err
	}
	return r.Show(status, "links", "Links", &view)
}

// listLinks reads the links of the page. An error of what was searched for is one of the page.
func (r *request) listLinks(view *linksView) (status int, err error) {
	s := &view.Search
	if view.Owner != nil && view.Owner.Error != "" {
		view.Error, view.Pager = labelled("The owner", view.Owner.Error), pager{Page: 1}
		return fasthttp.StatusOK, nil // while one types, too
	}
	order, total := s.order(), ""
	if !s.Empty() { // to count all links would cost the page of all links more than the list itself
		total = "true"
	}
	q, err := ops.ParseList(r.Caller, parameters("q", s.Q, "tag", s.Tag, "state", s.State, "owner", s.Owner,
		"created_from", s.From, "created_to", s.To, "never_hit", s.NeverHit, "sort", order.sort, "order", order.order, "total", total,
		"cursor", view.Pager.cursor, "limit", listed))
	if err == nil {
		view.Owners = q.Guard.AnyOwner
		err = r.Heavily(func() error {
			return r.Calls.List(r.Caller, q, func(p ops.Page) error { return r.takePage(view, p) })
		})
	}
	if p, known := problem.Of(err); err == nil || !known || p.Kind != problem.Invalid {
		return fasthttp.StatusOK, err
	}
	at, general, _ := visit.FieldErrors(err, "q", "tag", "state", "created_from", "created_to", "cursor")
	view.Error = visit.Sentence(cmp.Or(labelled("The search", at["q"]), labelled("The tag", at["tag"]), labelled("The state", at["state"]),
		labelled("Created from", at["created_from"]), labelled("Created until", at["created_to"]),
		labelled("The address of this page", at["cursor"]), general))
	view.Pager = pager{Page: 1}
	return fasthttp.StatusUnprocessableEntity, nil
}

// takePage puts a page of links into the view.
func (r *request) takePage(view *linksView, p ops.Page) error {
	names, err := r.ownerNames(view.Owners)
	if err != nil {
		return err
	}
	s := &view.Search
	for i := range p.Links {
		l := &p.Links[i]
		row := linkRow{Link: *l, Path: linkPath(l.Code, s.Owner), Edit: visit.Address(Root+"link/"+l.Code+"/edit", "owner", s.Owner)}
		row.Host, row.Rest = splitTarget(l.Target)
		row.Scheme, row.Site, _ = strings.Cut(r.BaseURL, "://")
		row.Scheme += "://"
		row.OwnerName = cmp.Or(names[l.Owner], "user "+strconv.FormatUint(uint64(l.Owner), 10))
		row.MoreTags = max(0, len(l.Tags)-shownTags)
		for _, tag := range l.Tags[:len(l.Tags)-row.MoreTags] {
			row.Tags = append(row.Tags, visit.Option{Name: tag, Path: (&linkSearch{Tag: tag, Owner: s.Owner}).address()})
		}
		view.Rows = append(view.Rows, row)
	}
	view.Total, view.AsOf = p.Total, p.AsOf
	view.Pager.turn(s, p.Next)
	return nil
}

// ownerNames returns the names of all users, if they are wanted.
func (r *request) ownerNames(wanted bool) (map[uint32]string, error) {
	names := make(map[uint32]string)
	if !wanted {
		return names, nil
	}
	users, err := r.Accounts.ListUsers()
	for _, u := range users {
		names[u.ID] = u.Name
	}
	return names, err
}

// splitTarget returns the host of a target, and the rest after it.
func splitTarget(target string) (host, rest string) {
	_, after, found := strings.Cut(target, "://")
	if !found {
		return target, ""
	}
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		return after[:i], after[i:]
	}
	return after, ""
}

// showMade puts the link that was made before into the view, if the visitor has such a link.
func (r *request) showMade(view *linksView) error {
	code, err := ops.ParseCode(r.Query("made"))
	if err != nil {
		return nil
	}
	l, err := r.Calls.Read(r.Caller, code, engine.Guard{Owner: r.Caller.User.ID})
	if err == nil {
		view.Made, view.Works = &l, l.State == engine.StateActive
	} else if _, _, ok := visit.FieldErrors(err); !ok {
		return err
	}
	return nil
}

// A pager leads from page to page of the list. Cursors lead only to older links, so the address of
// a page has the cursors of the pages between the first one and itself. All is in the address, so a
// page survives reload, and can be kept as a bookmark.
type pager struct {
	Page                int    // from 1 on
	First, Newer, Older string // addresses; "": there is no such page, or the way there is not known

	cursor string   // of this page; "": the first
	back   []string // the cursors of the pages before, without the first page's
}

// maxBack bounds how many pages the address leads back: 4.5 KB of cursors.
const maxBack = 100

const cursorSeparator = "." // not a character of cursors

// pager returns the pager of the request: where it is, and how to go back.
func (r *request) pager(s *linkSearch) pager {
	p := pager{Page: 1, cursor: r.Query("cursor")}
	if p.cursor == "" {
		return p
	}
	n, _ := strconv.Atoi(r.Query("page"))
	p.Page = min(max(n, 2), 1e6)
	if back := r.Query("back"); back != "" {
		p.back = strings.Split(back, cursorSeparator)
	}
	p.First = s.address()
	switch before := len(p.back) - 1; {
	case p.Page == 2:
		p.Newer = p.First
	case before >= 0:
		p.Newer = p.address(s, p.Page-1, p.back[before], p.back[:before])
	}
	return p
}

// turn sets the way to the next page; next is its cursor, empty if there is none.
func (p *pager) turn(s *linkSearch, next string) {
	if next == "" {
		return
	}
	back := p.back
	if p.cursor != "" {
		back = append(back[:len(back):len(back)], p.cursor)
	}
	p.Older = p.address(s, p.Page+1, next, back[max(0, len(back)-maxBack):])
}

func (p *pager) address(s *linkSearch, page int, cursor string, back []string) string {
	return s.address("cursor", cursor, "page", strconv.Itoa(page), "back", strings.Join(back, cursorSeparator))
}
