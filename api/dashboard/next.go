package dashboard

import (
	"net/url"
	"path"
	"strings"

	"github.com/valyala/fasthttp"
)

// maxNextBytes bounds the path to return to.
const maxNextBytes = 2048

// nextPage returns the page to go to after signing in: next if that is the path, and perhaps the
// query, of a page for visitors who are signed in, the overview otherwise. Other paths of this
// server are refused, too, because a short link leads anywhere.
func (d *Dashboard) nextPage(next string) *url.URL {
	overview := &url.URL{Path: Root}
	if len(next) > maxNextBytes || strings.ContainsRune(next, '\\') { // which browsers take for a slash
		return overview
	}
	u, err := url.Parse(next) // refuses control bytes
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !d.hasPage(u.Path) {
		return overview
	}
	if u.Path != Root && path.Clean(u.Path) != u.Path { // browsers resolve "..", also as %2e%2e
		return overview
	}
	return &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
}

// formPage returns the path of the page that shows the form that was sent, with its query.
func (r *request) formPage() string {
	shown := url.URL{Path: r.pageOf(r.path()), RawQuery: string(r.ctx.URI().QueryString())}
	return shown.String()
}

// pageOf returns the page that shows the form that is sent to path.
func (d *Dashboard) pageOf(path string) string {
	for !d.hasPage(path) {
		slash := strings.LastIndexByte(path, '/')
		if slash < len(Root) {
			return Root
		}
		path = path[:slash]
	}
	return path
}

// hasPage reports whether path is that of a page for visitors who are signed in.
func (d *Dashboard) hasPage(path string) bool {
	for i := range d.rows {
		if p := &d.rows[i]; p.method == fasthttp.MethodGet && p.who != anybody && matches(p.path, path) {
			return true
		}
	}
	return false
}

// matches reports whether path is one of those that a row's pattern means.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}
