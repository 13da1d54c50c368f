package palette

import (
	"net/url"
	"slices"
	"strings"

	"shunt/api/dashboard/visit"
)

// A place is where an entry leads. Words are other ones by which it is found; nobody reads them.
type place struct {
	path, name, words string
	edits             bool // for those who change links
}

// actions are what somebody may want to do, wherever he is.
var actions = []place{
	{visit.Root + "links/new", "New link", "create make add shorten", true},
	{visit.Root + "links/bulk", "Import many", "create make several csv paste", true},
	{visit.Root + "compare", "Compare links", "figures chart", false},
	{visit.Root + "campaigns", "Campaign templates", "utm source medium", true},
	{visit.Root + "links/filters", "Saved filters", "search", false},
	{visit.Root + "links/trash", "Trash", "deleted restore undo recover bin", true},
	{visit.Root + "tokens/apps", "Set up an app", "bookmarklet sharex shortcuts curl n8n token", true},
	{visit.Root + "account", "Account", "password zone sessions sign out", false},
	{visit.Root + "keys", "Keys", "keyboard shortcuts help", false},
}

// ofLink are what can be done with a link; each path follows that of its page.
var ofLink = []place{
	{"", "Figures of", "hits visitors", false}, {"/edit", "Edit", "change target title expiry password", true},
	{"/owner", "Give away", "owner move transfer", true}, {"/reset", "Reset the figures of", "hits zero", true}, {"/delete", "Delete", "remove", true},
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
		all = append(all, place{whose.Address(visit.Root + "link/" + url.PathEscape(code) + p.path), p.name + " " + code, p.words, p.edits})
	}
	return code, all
}

// matching returns the places that have all words of q, each as the beginning of a word. edits: the visitor changes
// links; say returns a text in the visitor's language.
func matching(all []place, q string, edits bool, say func(string) string) []place {
	asked := strings.Fields(strings.ToLower(q))
	return slices.DeleteFunc(slices.Clone(all), func(p place) bool {
		if p.edits && !edits {
			return true
		}
		words := strings.Fields(strings.ToLower(p.name + " " + p.words + " " + say(p.name) + " " + say(p.words)))
		return slices.ContainsFunc(asked, func(word string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, word) })
		})
	})
}
