package checks

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/fetch"
)

// Path is the path of the page.
const Path = visit.Root + "links/check"

// A view is what the page shows.
type view struct {
	fetch.Check
	Running bool
	Search  find.Search // of the list whose links would be checked
	Dead    []dead
	Error   string
}

// A dead is a link whose target does not answer.
type dead struct {
	fetch.Dead
	Path string // of its page
}

// Page is GET /_/links/check.
func Page(r *visit.Request) error { return show(r, find.Read(r.Query), nil) }

func show(r *visit.Request, s find.Search, refused error) error {
	if !r.Fetches.Allowed() {
		return r.Missing()
	}
	status := fasthttp.StatusOK
	v := view{Check: r.Checks.Read(r.Caller), Search: s}
	v.Running = v.Check.State == fetch.Running
	for _, d := range v.Check.Dead {
		v.Dead = append(v.Dead, dead{d, visit.Whose{Owner: s.Owner, Domain: d.Host}.Address(visit.Root + "link/" + url.PathEscape(d.Code))})
	}
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused)
		if !ok {
			return refused
		}
		status = visit.StatusOf(refused)
		if v.Error = visit.Sentence(general); v.Error == "" && len(at) > 0 {
			v.Error = "This list cannot be checked."
		}
	}
	return r.Show(status, "links-check", "Dead targets", &v)
}

// Start is POST /_/links/check.
func Start(r *visit.Request) error {
	s := find.Read(r.Sent)
	if r.Sent("stop") != "" {
		r.Checks.Stop(r.Caller)
		return r.SeeOther(s.At(Path))
	}
	if _, err := r.Checks.Start(r.Caller, visit.Parameters(s.Pairs()...)); err != nil {
		return show(r, s, err)
	}
	return r.SeeOther(s.At(Path))
}
