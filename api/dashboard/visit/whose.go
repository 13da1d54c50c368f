package visit

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/ops"
)

// A Whose is whose links an address is about, and of which domain: its parameters owner and domain.
type Whose struct {
	Owner  string // empty: the visitor's own; else all, or a user's number
	Domain string // a host; empty: of one link and of tags the default domain, of several links all domains
}

// Whose returns what the address of the request says. Without an owner, a viewer means the links of all.
func (r *Request) Whose() Whose { return Whose{r.ownerOr(r.Query("owner")), r.Query("domain")} }

func (r *Request) ownerOr(owner string) string {
	if owner == "" && r.Caller.User.Role == account.RoleViewer {
		return "all"
	}
	return owner
}

// SentWhose is Whose for a page or a form of one link. A form has both in hidden fields, so that they outlive signing
// in again.
func (r *Request) SentWhose() (w Whose) {
	for name, of := range map[string]*string{"owner": &w.Owner, "domain": &w.Domain} {
		if *of = r.Query(name); *of == "" {
			*of, _ = r.Typed(name)
		}
	}
	return w
}

// Pairs returns pairs of names and values with those of w.
func (w Whose) Pairs(pairs ...string) []string {
	return slices.Concat(pairs, []string{"owner", w.Owner, "domain", w.Domain})
}

// Address returns the address of a page about w, with more parameters.
func (w Whose) Address(path string, pairs ...string) string {
	return Address(path, w.Pairs(pairs...)...)
}

// In returns w for links of the domain of a host.
func (w Whose) In(host string) Whose { return Whose{w.Owner, host} }

// Of returns w for links of another owner.
func (w Whose) Of(owner string) Whose { return Whose{owner, w.Domain} }

// Given returns the parameters that have a value: those of hidden fields.
func (w Whose) Given() (given []Parameter) {
	for _, p := range []Parameter{{"owner", w.Owner}, {"domain", w.Domain}} {
		if p.Value != "" {
			given = append(given, p)
		}
	}
	return given
}

// Asked returns w as calls take it. Errors: those of ParseWhose.
func (r *Request) Asked(w Whose) (ops.Whose, error) {
	return r.Calls.ParseWhose(r.Caller, Parameters(w.Pairs()...))
}

// Moment returns a time as calls take it; "" for the zero time.
func Moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Parameters returns names and values as parameters of a call; empty values are left out.
func Parameters(pairs ...string) *fasthttp.Args {
	args := &fasthttp.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args.Set(pairs[i], pairs[i+1])
		}
	}
	return args
}
