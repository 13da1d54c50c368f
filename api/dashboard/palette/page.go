package palette

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/visit"
	"shunt/api/ops"
)

const (
	// Path is the page of entries, and KeysPath that of keys.
	Path     = visit.Root + "go"
	KeysPath = visit.Root + "keys"
)

// shown is how many links are found at most, as text for the call: more than one looks through is for the list.
const shown = "8"

// A view is what the page shows.
type view struct {
	Q, At  string
	Groups []group // those that have entries
	Error  string
	All    string // address of the list of all links that were found; empty: there are no more
}

// A group is entries of a kind.
type group struct {
	Title   string
	Entries []entry
}

// An entry is a place to go to. Text is what a link leads to.
type entry struct{ Path, Name, Text string }

// Say is read aloud while somebody types.
func (v *view) Say() string {
	n := 0
	for _, g := range v.Groups {
		n += len(g.Entries)
	}
	if n == 0 {
		return "nothing found"
	}
	return visit.Plural(uint64(n), "entry", "entries")
}

// Page is GET /_/go: the places that have the words q. at is the address of the page that the visitor is on.
func Page(r *visit.Request) error {
	v := view{Q: strings.TrimSpace(r.Query("q")), At: r.Query("at")}
	say := r.Language().Say
	if code, places := placesOf(v.At); code != "" {
		v.add("This link", matching(places, v.Q, r.Edits(), say))
	}
	var pages []place
	for _, p := range r.Places() {
		pages = append(pages, place{path: p.Path, name: p.Name})
	}
	v.add("Pages", matching(pages, v.Q, r.Edits(), say))
	v.add("Actions", matching(actions, v.Q, r.Edits(), say))
	status := fasthttp.StatusOK
	if v.Q != "" {
		if err := v.findLinks(r); err != nil {
			at, general, ok := visit.FieldErrors(err, "q")
			if !ok {
				return err
			}
			v.Error, status = visit.Sentence(cmp.Or(at["q"], general)), visit.StatusOf(err)
		}
	}
	return r.Show(status, "go", "Go to", &v)
}

func (v *view) add(title string, places []place) {
	g := group{Title: title}
	for _, p := range places {
		g.Entries = append(g.Entries, entry{Path: p.path, Name: p.name})
	}
	if len(g.Entries) > 0 {
		v.Groups = append(v.Groups, g)
	}
}

// findLinks adds the links that have the words, the best match first.
func (v *view) findLinks(r *visit.Request) error {
	q, err := r.Calls.ParseList(r.Caller, visit.Parameters("q", v.Q, "sort", "relevance", "limit", shown))
	if err != nil {
		return err
	}
	g := group{Title: "Links"}
	err = r.Heavily(func() error {
		return r.Calls.List(r.Caller, q, func(p ops.Page) error {
			for i := range p.Links {
				l := &p.Links[i]
				at := visit.Whose{Domain: l.Host}.Address(visit.Root + "link/" + url.PathEscape(l.Code))
				_, short, _ := strings.Cut(l.ShortURL, "://")
				g.Entries = append(g.Entries, entry{at, cmp.Or(l.Title, short), strings.Join(texts(l, short), " → ")})
			}
			if p.Next != "" {
				v.All = visit.Address(visit.Root+"links", "q", v.Q)
			}
			return nil
		})
	})
	if err == nil && len(g.Entries) > 0 {
		v.Groups = append(v.Groups, g)
	}
	return err
}

// texts returns what stands beside the name of a link.
func texts(l *ops.Link, short string) []string {
	if l.Title == "" {
		return []string{l.Target}
	}
	return []string{short, l.Target}
}

// Keys is GET /_/keys.
func Keys(r *visit.Request) error { return r.Show(fasthttp.StatusOK, "keys", "Keys", nil) }
