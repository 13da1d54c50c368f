package palette

import (
	"net/url"
	"slices"
	"strings"

	"shunt/api/dashboard/visit"
)

// A place is where an entry leads. Words are other ones by which it is found; nobody reads them.
type place struct{ path, name, words string }

// actions are what somebody may want to do, wherever he is.
var actions = []place{
	{visit.Root + "links/new", "New link", "create make add shorten"},
	{visit.Root + "links/bulk", "Import many", "create make several csv paste"},
	{visit.Root + "compare", "Compare links", "figures chart"},
	{visit.Root + "campaigns", "Campaign templates", "utm source medium"},
	{visit.Root + "links/filters", "Saved filters", "search"},
	{visit.Root + "links/trash", "Trash", "deleted restore undo recover bin"},
	{visit.Root + "tokens/apps", "Set up an app", "bookmarklet sharex shortcuts curl n8n token"},
	{visit.Root + "account", "Account", "password zone sessions sign out"},
	{visit.Root + "keys", "Keys", "keyboard shortcuts help"},
}

// ofLink are what can be done with a link; each path follows that of its page.
var ofLink = []place{
	{"", "Figures of", "hits visitors"}, {"/edit", "Edit", "change target title expiry password"},
	{"/owner", "Give away", "owner move transfer"}, {"/reset", "Reset the figures of", "hits zero"}, {"/delete", "Delete", "remove"},
}

// placesOf returns what can be done with the link whose page, or one of whose pages, is at address; none if it is not
// the address of such a page.
func placesOf(address string) (code string, all []place) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil
	}
	after, found := strings.CutPrefix(u.EscapedPath(), visit.Root+"link/")
	segment, _, _ := strings.Cut(after, "/")
	if code, err = url.PathUnescape(segment); !found || err != nil || code == "" {
		return "", nil
	}
	query := u.Query()
	whose := visit.Whose{Owner: query.Get("owner"), Domain: query.Get("domain")}
	for _, p := range ofLink {
		all = append(all, place{whose.Address(visit.Root + "link/" + url.PathEscape(code) + p.path), p.name + " " + code, p.words})
	}
	return code, all
}

// matching returns the places that have all words of q, each as the beginning of a word.
func matching(all []place, q string) []place {
	asked := strings.Fields(strings.ToLower(q))
	return slices.DeleteFunc(slices.Clone(all), func(p place) bool {
		words := strings.Fields(strings.ToLower(p.name + " " + p.words))
		return slices.ContainsFunc(asked, func(word string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, word) })
		})
	})
}
