package dashboard

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

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
	States []engine.State
	Rows   []linkRow
	Owners bool   // each row names its owner
	Error  string // why there is no list
	Pager  pager
}

// A linkSearch is what the list is asked for.
type linkSearch struct {
	Q, Tag, State string
	Owner         string // empty: the visitor
}

// A linkRow is a link in the list.
type linkRow struct {
	ops.Link
	Scheme     string   // of the short address, with ://
	Site       string   // its host
	Path       string   // of the link's page
	Edit       string   // of the page that edits it
	Tags       []option // the first tags; each leads to the links with it
	MoreTags   int
	Host, Rest string // of the target
	OwnerName  string
}

// An option leads to a list.
type option struct{ Name, Path string }

// Say returns how many links the page has, to be read aloud while somebody searches.
func (v *linksView) Say() string {
	switch {
	case v.Error != "":
		return v.Error
	case len(v.Rows) == 0:
		return "nothing found"
	case v.Pager.Older != "":
		return plural(uint64(len(v.Rows)), "link", "links") + ", and more on the next page"
	}
	return plural(uint64(len(v.Rows)), "link", "links")
}

// Empty reports whether the list is of everything.
func (s *linkSearch) Empty() bool { return s.Q == "" && s.Tag == "" && s.State == "" }

// address returns the address of the list, with more parameters; empty ones are left out.
func (s *linkSearch) address(pairs ...string) string {
	values := url.Values{}
	pairs = append(pairs, "q", s.Q, "tag", s.Tag, "state", s.State, "owner", s.Owner)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return linksPath
	}
	return linksPath + "?" + values.Encode()
}

// Cleared returns the address of the list of everything.
func (s *linkSearch) Cleared() string { return (&linkSearch{Owner: s.Owner}).address() }

// links is GET /_/links.
func (r *request) links() error {
	view := linksView{
		Form: r.newForm(linksPath, nil), Admin: r.admin(), States: engine.States(),
		Search: linkSearch{Q: r.searched(), Tag: strings.TrimSpace(r.query("tag")), State: r.query("state"), Owner: r.query("owner")},
	}
	view.Pager = r.pager(&view.Search)
	status, err := r.listLinks(&view)
	if err != nil {
		return err
	}
	if err := r.showMade(&view); err != nil {
		return err
	}
	return r.show(status, "links", "Links", &view)
}

// searched returns what is searched for. Of a pasted short address only the code is.
func (r *request) searched() string {
	q := strings.TrimSpace(r.query("q"))
	for _, start := range []string{r.baseURL + "/", r.site.Host + "/"} {
		if code, found := strings.CutPrefix(q, start); found {
			return code
		}
	}
	return q
}

// listLinks reads the links of the page. An error of what was searched for is one of the page.
func (r *request) listLinks(view *linksView) (status int, err error) {
	s := &view.Search
	q, err := ops.ParseList(r.caller, parameters("q", s.Q, "tag", s.Tag, "state", s.State, "owner", s.Owner,
		"cursor", view.Pager.cursor, "limit", listed))
	if err == nil {
		view.Owners = q.Guard.AnyOwner
		err = r.heavily(func() error {
			return r.calls.List(r.caller, q, func(p ops.Page) error { return r.takePage(view, p) })
		})
	}
	if p, known := problem.Of(err); err == nil || !known || p.Kind != problem.Invalid {
		return fasthttp.StatusOK, err
	}
	at, general, _ := fieldErrors(err, "q", "tag", "state", "cursor")
	view.Error = sentence(firstOf(labelled("The search", at["q"]), labelled("The tag", at["tag"]), labelled("The state", at["state"]),
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
		row := linkRow{Link: *l, Path: linkPath(l.Code, s.Owner), Edit: Root + "link/" + l.Code + "/edit" + ownerQuery(s.Owner)}
		row.Host, row.Rest = splitTarget(l.Target)
		row.Scheme, row.Site = splitBase(r.baseURL)
		if row.OwnerName = names[l.Owner]; row.OwnerName == "" {
			row.OwnerName = "user " + strconv.FormatUint(uint64(l.Owner), 10)
		}
		row.MoreTags = max(0, len(l.Tags)-shownTags)
		for _, tag := range l.Tags[:len(l.Tags)-row.MoreTags] {
			row.Tags = append(row.Tags, option{tag, (&linkSearch{Tag: tag, Owner: s.Owner}).address()})
		}
		view.Rows = append(view.Rows, row)
	}
	view.Pager.turn(s, p.Next)
	return nil
}

// ownerNames returns the names of all users, if they are wanted.
func (r *request) ownerNames(wanted bool) (map[uint32]string, error) {
	names := make(map[uint32]string)
	if !wanted {
		return names, nil
	}
	users, err := r.accounts.ListUsers()
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

// splitBase splits the beginning of short addresses into its scheme, with ://, and its host.
func splitBase(baseURL string) (scheme, host string) {
	scheme, host, _ = strings.Cut(baseURL, "://")
	return scheme + "://", host
}

// showMade puts the link that was made before into the view, if the visitor has such a link.
func (r *request) showMade(view *linksView) error {
	code, err := ops.ParseCode(r.query("made"))
	if err != nil {
		return nil
	}
	l, err := r.calls.Read(r.caller, code, engine.Guard{Owner: r.caller.User.ID})
	if err == nil {
		view.Made, view.Works = &l, l.State == engine.StateActive
	} else if _, _, ok := fieldErrors(err); !ok {
		return err
	}
	return nil
}
