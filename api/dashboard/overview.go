package dashboard

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/span"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine/zone"
)

// overviewView is what the overview shows.
type overviewView struct {
	figuresView
	visit.Whose
	Domains *visit.DomainChoice
	Form    linkForm // creates a link
	Admin   bool
	Edits   bool         // the visitor may change links
	Unused  bool         // no link was hit lately: the page says how to begin
	Today   *ops.Figures // nil: the span is today
	Zone    string       // of today
	Top     topView
	Live    string // the path of the live figures of today
}

// A topView is the links with the most hits in a span.
type topView struct {
	Span   string
	Links  []topLink
	Beyond uint64    // other links have at most that many hits; 0: Links is certain
	Ranked time.Time // hits until then decided which links were looked at; zero: hits until now
}

// A topLink is one of the most-hit links.
type topLink struct {
	ops.LinkFigures
	Path string
}

// Others returns the address of the overview of an owner's links.
func (v *overviewView) Others(owner string) string { return v.Of(owner).Address(Root) }

// overview is GET /_/.
func (r *request) overview() error {
	whose := r.Whose()
	view := overviewView{figuresView: r.figuresView(time.Time{}, whose.Pairs()...), Whose: whose, Domains: r.DomainsOfList(whose.Domain, true), Admin: r.Admin(), Edits: r.Edits(), Live: whose.Address(livePath)}
	var err error
	if view.Form, err = r.quickForm(); err != nil {
		return err
	}
	if view.Span == nil {
		return r.Show(fasthttp.StatusUnprocessableEntity, "overview", "Overview", &view)
	}
	if err := r.Heavily(func() error { return r.readOverview(&view) }); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "overview", "Overview", &view)
}

// readOverview reads the figures of the overview, all in one turn.
func (r *request) readOverview(view *overviewView) error {
	windows := view.windows("include", allLists, "top", topShown)
	if view.Span.Name != span.Today {
		from, zone := r.today()
		view.Today, view.Zone = new(ops.Figures), zone.Name()
		windows = append(windows, window{from: from, figures: view.Today})
	}
	if err := r.readOwner(windows, view.Pairs()...); err != nil {
		return err
	}
	view.Top = topOf(&view.figuresView, view.Whose)
	view.Unused = view.Window.Hits == 0 && (view.Today == nil || view.Today.Hits == 0) && (view.Then == nil || view.Then.Hits == 0)
	return r.fillFigures(&view.figuresView)
}

// topOf returns the most-hit links of a view.
func topOf(v *figuresView, w visit.Whose) (top topView) {
	top.Span, top.Beyond, top.Ranked = v.Span.Label(), v.Window.TopBeyond, v.Window.TopRanked
	for _, l := range v.Window.Top {
		top.Links = append(top.Links, topLink{l, linkPath(l.Code, w.In(l.Host))})
	}
	return top
}

// today returns when today began for the visitor, and where.
func (r *request) today() (begin time.Time, days *zone.Zone) {
	c := r.calendar()
	if s, err := c.Of(span.Asked{Name: span.Today}, time.Time{}); err == nil {
		return s.From, s.Zone
	}
	return c.Store.DayOf(c.Now, 0), c.Store
}

// topShown is the number of links in the list of the most-hit ones.
const topShown = "10"

// linkPath returns the address of a link's page.
func linkPath(code string, w visit.Whose) string {
	return w.Address(Root + "link/" + url.PathEscape(code))
}

const livePath = Root + "live"

// IsStream reports whether path is that of an endless answer, which is about this node's own moment.
func IsStream(path []byte) bool { return string(path) == livePath }

// liveToday is GET /_/live: the hits and visitors of today of all links, as a stream.
func (r *request) liveToday() error {
	from, _ := r.today()
	q, err := r.Calls.ParseOwnerFigures(r.Caller, parameters(r.Whose().Pairs("from", visit.Moment(from))...))
	if err != nil {
		return err
	}
	read := func() (hits, unique uint64, err error) {
		err = r.Heavily(func() error {
			q.From, _ = r.today()
			f, err := r.Calls.OwnerFigures(r.Caller, q)
			hits, unique = f.Hits, f.Unique
			return err
		})
		return hits, unique, err
	}
	return r.Stream(r.Ctx, r.Caller, q.Whose, read)
}

// shownMisses is how many codes the page of misses shows.
const shownMisses = "100"

// missesView is what the page of misses shows.
type missesView struct {
	ops.Misses
	Domains *visit.DomainChoice
	Domain  string // the host that is chosen; empty: all
	Error   string // why there is no list
}

// missesPage is GET /_/misses: the codes most asked for in vain.
func (r *request) missesPage() error {
	view := missesView{Domain: strings.TrimSpace(r.Query("domain"))}
	view.Domains = r.DomainsOfList(view.Domain, true)
	q, err := r.Calls.ParseMisses(r.Caller, parameters("domain", view.Domain, "top", shownMisses))
	if err != nil {
		at, general, ok := visit.FieldErrors(err, "domain")
		if !ok {
			return err
		}
		view.Error = visit.Sentence(cmp.Or(labelled("The domain", at["domain"]), general))
		return r.Show(fasthttp.StatusUnprocessableEntity, "misses", "Broken links", &view)
	}
	if view.Misses, err = r.Calls.Misses(r.Caller, q); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "misses", "Broken links", &view)
}
