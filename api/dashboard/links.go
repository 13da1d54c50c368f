package dashboard

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/folders"
	"shunt/api/dashboard/glance"
	"shunt/api/dashboard/qr"
	"shunt/api/dashboard/several"
	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// listed is how many links a page has, as text for the call. A page is to be at most 8 kB when it is sent, of which
// they are about 5.
const listed = "25"

// shownTags is how many tags of a link the list shows.
const shownTags = 3

// linksView is what the page of links shows.
type linksView struct {
	Form linkForm  // creates a link
	Made *madeView // the link that was made before; nil: none

	Search  find.Search
	Admin   bool
	Edits   bool         // the visitor may change links
	Owner   *ownerChoice // nil: the visitor has none
	Domains *visit.DomainChoice
	Folders visit.FolderChoice
	Folder  string // address of the page of the folder whose links are listed; empty: of none
	Bulk    string // address of the form for several links
	Trash   string // address of what was deleted
	States  []engine.State
	Sorts   []find.Order
	Rows    []linkRow
	Owners  bool      // each row names its owner
	Total   *uint64   // links of all pages; nil: they were not counted
	AsOf    time.Time // see ops.Page
	Error   string    // why there is no list
	Pager   find.Pager
	Kept    []filterRow // filters that the visitor keeps
	Choices []choice    // what can be done with several links
	Here    string      // the address of the page, to come back to

	Place *time.Location // of days
}

// A madeView is a link that was made before.
type madeView struct {
	ops.Link
	shareView
	Works       bool // it redirects
	Path, Query string
}

// A linkRow is a link in the list.
type linkRow struct {
	ops.Link
	Scheme     string         // of the short address, with ://
	Site       string         // its host
	Path       string         // of the link's page
	Query      string         // of the addresses of its other pages
	Value      string         // of the box that selects it
	QR         string         // address of the page of its QR code
	Like       string         // of the page that makes a link like it
	Tags       []visit.Option // the first tags; each leads to the links with it
	MoreTags   int
	Host, Rest string // of the target, as far as a line has room
	OwnerName  string
	Edits      bool // the visitor may change the link

	Mark  template.HTML // of the host
	Line  template.HTML // of the hits by day; empty: there are none
	Month uint64        // hits of monthDays days
}

// Name returns what the link is called: its title, or else the host of its target.
func (row *linkRow) Name() string { return cmp.Or(row.Title, row.Host) }

// Uncounted reports whether the visitors were not summed up since the link got its first hit.
func (row *linkRow) Uncounted() bool { return several.Uncounted(&row.Link) }

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

// links is GET /_/links.
func (r *request) links() error {
	if r.Query("state") == string(engine.StateDeleted) && r.Edits() { // typed into the address
		return r.SeeOther(r.Whose().Address(undo.TrashPath))
	}
	form, err := r.quickForm()
	if err != nil {
		return err
	}
	owner, choice, err := r.ownerAsked()
	if err != nil {
		return err
	}
	view := linksView{
		Owner: choice, Form: form, Admin: r.Admin(), Edits: r.Edits(), States: engine.States(), Sorts: find.Orders, Search: find.Read(r.Query), Here: r.Here(), Choices: r.choices(), Place: r.Place(),
	}
	view.Search.Implied = r.Query("owner") == ""
	if view.Search.Owner = owner; owner == "" && view.Search.Folder != "" && r.Caller.ReadsAll() {
		view.Search.Owner = "all" // whose links a folder has
	}
	if view.Folders, err = r.FoldersOfList(view.Search.Folder); err != nil {
		return err
	}
	if err := r.nameSearch(&view.Search); err != nil {
		return err
	}
	if f, err := folders.Named(r.Request, view.Search.Folder); err == nil {
		view.Folder = folders.PathOf(f.Number)
	}
	view.Domains, view.Bulk = r.DomainsOfList(view.Search.Domain, true), visit.Address(bulkPath, "domain", view.Search.Domain)
	view.Trash = view.Search.Whose().Address(undo.TrashPath)
	view.Pager = find.NewPager(r.Request, &view.Search)
	if view.Kept, err = r.filters(view.Search.Query()); err != nil {
		return err
	}
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
		view.Error, view.Pager = labelled("The owner", view.Owner.Error), find.Pager{Page: 1}
		return fasthttp.StatusOK, nil // while one types, too
	}
	total := ""
	if !s.Empty() { // to count all links would cost the page of all links more than the list itself
		total = "true"
	}
	q, err := r.Calls.ParseList(r.Caller, parameters(append(s.Pairs(), "total", total, "cursor", view.Pager.Cursor, "limit", listed)...))
	if err == nil {
		q.Summed, view.Owners = true, q.Whose.Anybody || q.Folder != 0
		err = r.Heavily(func() error { return r.readPage(view, q) })
	}
	if errors.Is(err, folder.ErrNoFolder) {
		err = jsonbody.FieldError("folder", "unknown", "is not there, or not for you")
	}
	if p, known := problem.Of(err); err == nil || !known || p.Kind != problem.Invalid {
		return fasthttp.StatusOK, err
	}
	at, general, _ := visit.FieldErrors(err, "q", "tag", "state", "created_from", "created_to", "cursor", "domain", "folder", "owner")
	view.Error = visit.Sentence(cmp.Or(labelled("The search", at["q"]), labelled("The tag", at["tag"]), labelled("The state", at["state"]),
		labelled("Created from", at["created_from"]), labelled("Created until", at["created_to"]),
		labelled("The address of this page", at["cursor"]), labelled("The domain", at["domain"]), labelled("The folder", at["folder"]),
		labelled("The owner", at["owner"]), general))
	view.Pager = find.Pager{Page: 1}
	return fasthttp.StatusUnprocessableEntity, nil
}

// readPage reads a page of links, and the hits of each by day.
func (r *request) readPage(view *linksView, q ops.ListQuery) error {
	var page ops.Page
	err := r.Calls.List(r.Caller, q, func(p ops.Page) error {
		page = p
		return nil
	})
	if err != nil {
		return err
	}
	if len(page.Links) == 0 {
		return r.takePage(view, q.Whose, &page, nil)
	}
	days, err := r.Calls.HitsByDay(r.Caller, page.Links, monthDays)
	if err != nil {
		return err
	}
	return r.takePage(view, q.Whose, &page, days)
}

// A line of a row is of monthDays days, and has lineValues values: each day would be a quarter of what a row is when it
// is sent.
const (
	monthDays  = 30
	lineValues = 15
)

// takePage puts a page of links into the view, with the hits of each by day.
func (r *request) takePage(view *linksView, of ops.Whose, p *ops.Page, days [][]ops.Bucket) error {
	names, err := r.ownerNames(view.Owners)
	if err != nil {
		return err
	}
	s := &view.Search
	for i := range p.Links {
		l := &p.Links[i]
		whose := s.Whose().In(l.Host)
		row := linkRow{Link: *l, Path: linkPath(l.Code, whose), Query: whose.Address(""), Like: whose.Address(newPath, "like", l.Code)}
		row.Edits = view.Edits && r.Calls.MayEdit(r.Caller, of, l)
		row.Value, row.QR = several.Of(l).Value(), whose.Address(qr.Path(l.Code))
		row.Host, row.Rest = splitTarget(shortened(l.Target))
		row.Mark = glance.Mark(row.Host)
		row.Scheme, row.Site, _ = strings.Cut(strings.TrimSuffix(l.ShortURL, "/"+l.Code), "://")
		row.Scheme += "://"
		row.OwnerName = cmp.Or(names[l.Owner], "user "+strconv.FormatUint(uint64(l.Owner), 10))
		if l.Owner == r.Caller.User.ID && !view.Admin {
			row.OwnerName = "you"
		}
		row.MoreTags = max(0, len(l.Tags)-shownTags)
		for _, tag := range l.Tags[:len(l.Tags)-row.MoreTags] {
			row.Tags = append(row.Tags, visit.Option{Name: tag, Path: find.Of(s.Whose(), tag).Address()})
		}
		values := make([]uint64, lineValues)
		for j, b := range days[i] {
			values[j*lineValues/len(days[i])] += b.Hits
			row.Month += b.Hits
		}
		row.Line = glance.Line(values)
		view.Rows = append(view.Rows, row)
	}
	view.Total, view.AsOf = p.Total, p.AsOf
	view.Pager.Turn(s, p.Next)
	return nil
}

// nameSearch names the folder and the owner of a search, for people.
func (r *request) nameSearch(s *find.Search) error {
	if s.Folder != "" {
		s.FolderName = r.FolderName(s.Folder)
	}
	switch s.Owner {
	case "":
		return nil
	case "all":
		s.OwnerName = "all users"
		return nil
	case numberOf(r.Caller.User):
		s.OwnerName = "you"
		return nil
	}
	s.OwnerName = "user " + s.Owner
	if !r.Admin() {
		return nil
	}
	u, err := r.userNamed(s.Owner)
	if errors.Is(err, account.ErrNoUser) {
		return nil
	}
	s.OwnerName = u.Name
	return err
}

// ownerNames returns the names of all users, if they are wanted and the visitor may know them.
func (r *request) ownerNames(wanted bool) (map[uint32]string, error) {
	names := make(map[uint32]string)
	if !wanted || !r.Admin() {
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
	_, after, _ := strings.Cut(target, ":")
	after, found := strings.CutPrefix(after, "//")
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
	code, err := ops.NamedCode(r.Query("made"))
	if err != nil {
		return nil
	}
	whose := visit.Whose{Domain: r.Query("domain")}
	asked, err := r.Asked(whose)
	if err != nil {
		return nil // the list says so
	}
	l, err := r.Calls.Read(r.Caller, code, asked)
	if err == nil {
		view.Made = &madeView{Link: l, Works: l.State == engine.StateActive, shareView: shareOf(&l, whose), Path: linkPath(code, whose), Query: whose.Address("")}
	} else if _, _, ok := visit.FieldErrors(err); !ok {
		return err
	}
	return nil
}

const filtersPath = find.Path + "/filters"

// A filterRow is a filter that the visitor keeps.
type filterRow struct {
	account.Filter
	Path         string
	Words        []string // of the search
	Current      bool     // the list has it
	Typed, Error string   // the name as typed, and why it was refused
}

// filters returns the filters that the visitor keeps, without those of a domain that the visitor may not use; query is
// that of the list.
func (r *request) filters(query string) (rows []filterRow, err error) {
	kept, err := r.Accounts.Filters(r.Caller.User.ID)
	for _, f := range kept {
		s := find.Parse(f.Query)
		if _, err := r.Calls.DomainNamed(r.Caller, s.Domain); s.Domain != "" && err != nil && r.Caller.Domains.Limited() {
			continue
		}
		if err := r.nameSearch(&s); err != nil {
			return nil, err
		}
		rows = append(rows, filterRow{Filter: f, Path: s.Address(), Words: s.Words(), Current: s.Query() == query, Typed: f.Name})
	}
	return rows, err
}

// filtersView is what the page of filters shows.
type filtersView struct {
	Rows  []filterRow
	Most  int
	Error string
	New   *filterRow // was refused; nil: none
}

// filtersPage is GET /_/links/filters.
func (r *request) filtersPage() (err error) {
	view := filtersView{Most: account.MaxFilters}
	if view.Rows, err = r.filters(""); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "filters", "Saved filters", view)
}

// showRefused shows the page with what was typed and why it was refused. was is the name that the filter has; empty: it
// is new.
func (r *request) showRefused(f account.Filter, was string, refused error) (err error) {
	at, general, ok := visit.FieldErrors(refused, "name", "query")
	if !ok {
		return refused
	}
	view := filtersView{Most: account.MaxFilters, Error: visit.Sentence(cmp.Or(labelled("The filter", at["query"]), general))}
	if view.Rows, err = r.filters(""); err != nil {
		return err
	}
	s := find.Parse(f.Query)
	if err := r.nameSearch(&s); err != nil {
		return err
	}
	row := &filterRow{Filter: f, Words: s.Words()}
	if i := slices.IndexFunc(view.Rows, func(row filterRow) bool { return row.Name == was }); i >= 0 {
		row = &view.Rows[i]
	} else {
		view.New = row
	}
	row.Typed, row.Error = f.Name, visit.Sentence(at["name"])
	return r.Show(visit.StatusOf(refused), "filters", "Saved filters", view)
}

// keepFilter is POST /_/links/filters: it saves what the list shows under a name, or gives a filter another one.
func (r *request) keepFilter() error {
	s, was := find.Parse(r.Sent("query")), r.Sent("was")
	f := account.Filter{Name: r.Sent("name"), Query: s.Query()}
	if err := r.Accounts.KeepFilter(r.Caller.User.ID, f, was); err != nil {
		return r.showRefused(f, was, err)
	}
	if was != "" {
		r.Say("done", "The filter has its new name.")
		return r.SeeOther(filtersPath)
	}
	r.Say("done", "The filter is saved.")
	return r.SeeOther(s.Address())
}

// deleteFilter is POST /_/links/filters/delete.
func (r *request) deleteFilter() error {
	if err := r.Accounts.DropFilter(r.Caller.User.ID, r.Sent("name")); err != nil {
		return err
	}
	r.Say("done", "The filter is deleted. The links stay as they are.")
	return r.SeeOther(filtersPath)
}
