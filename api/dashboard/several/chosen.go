package several

import (
	"strings"

	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/engine"
)

// A Chosen is one of several links that a form names.
type Chosen struct {
	engine.Key
	Host string // of the domain; empty: the default one
}

// hostSeparator stands between the code and the host of a chosen link. No code has it, and no host.
const hostSeparator = ","

// Of returns a link as a form names it.
func Of(l *ops.Link) Chosen { return Chosen{l.Key, l.Host} }

// Keyed returns the link of a key.
func Keyed(r *visit.Request, k engine.Key) Chosen {
	if d := r.Calls.Domains().Numbered(k.Domain); d != nil && k.Domain != engine.DefaultDomain {
		return Chosen{k, d.Host}
	}
	return Chosen{k, ""}
}

// Named returns the link that the value of a field names, if it may be one.
func Named(r *visit.Request, value string) (c Chosen, ok bool) {
	code, host, elsewhere := strings.Cut(value, hostSeparator)
	valid, err := ops.NamedCode(code)
	if err != nil || !elsewhere {
		return Chosen{Key: engine.Key{Domain: engine.DefaultDomain, Code: valid}}, err == nil
	}
	d, err := r.Calls.DomainNamed(r.Caller, host)
	if err != nil {
		return c, false
	}
	return Keyed(r, engine.Key{Domain: d.Number, Code: valid}), true
}

// Value returns the value of a field that names the link.
func (c Chosen) Value() string {
	if c.Host == "" {
		return c.Code
	}
	return c.Code + hostSeparator + c.Host
}

// Name returns what people read: of a link of the default domain the code.
func (c Chosen) Name() string {
	if c.Host == "" {
		return c.Code
	}
	return c.Host + "/" + c.Code
}

// Of returns w for the domain of the link.
func (c Chosen) Of(w ops.Whose) ops.Whose {
	w.Domain, w.Every = c.Domain, false
	return w
}

// Uncounted reports whether a link has hits whose visitors were not summed up yet.
func Uncounted(l *ops.Link) bool { return l.Unique == 0 && l.Hits > l.ImportedHits }
