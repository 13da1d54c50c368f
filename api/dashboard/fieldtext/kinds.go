package fieldtext

import (
	"slices"
	"strconv"

	"shunt/engine"
)

// A Redirect is a choice of how a link redirects.
type Redirect struct{ Status, Meaning string }

// Redirects are the choices, the usual one first.
var Redirects = []Redirect{
	{"302", "temporary, the usual kind"},
	{"301", "permanent, browsers remember it"},
	{"307", "temporary, forms are sent on"},
	{"308", "permanent, forms are sent on"},
}

// A Query is a choice of what becomes of the query of the short address.
type Query struct {
	Query   engine.Forwarding
	Meaning string
}

// Queries are the choices, the usual one first.
var Queries = []Query{
	{engine.ForwardNone, "not passed on"},
	{engine.ForwardAppend, "added to the target"},
	{engine.ForwardOverride, "added, in place of the same names in the target"},
	{engine.ForwardKeep, "added, but for names that the target has"},
}

// QueryMeaning returns what a link does with the query of the short address.
func QueryMeaning(q engine.Forwarding) string {
	i := slices.IndexFunc(Queries, func(k Query) bool { return k.Query == q })
	return Queries[max(i, 0)].Meaning
}

// RedirectMeaning returns what a status means; "" for one that is no choice.
func RedirectMeaning(status int) string {
	for _, k := range Redirects {
		if k.Status == strconv.Itoa(status) {
			return k.Meaning
		}
	}
	return ""
}
