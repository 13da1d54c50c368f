package visit

import (
	"net/url"
	"path"
	"strings"

	"github.com/valyala/fasthttp"
)

// MaxNextBytes bounds the path to return to.
const MaxNextBytes = 2048

// NextPage returns the page to go to after signing in: next if that is the path, and perhaps the
// query, of a page for visitors who are signed in, the overview otherwise. Other paths of this
// server are refused, too, because a short link leads anywhere.
func (d *Dashboard) NextPage(next string) *url.URL {
	overview := &url.URL{Path: Root}
	if len(next) > MaxNextBytes || strings.ContainsRune(next, '\\') { // which browsers take for a slash
		return overview
	}
	u, err := url.Parse(next) // refuses control bytes
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !d.HasPage(u.EscapedPath()) {
		return overview
	}
	if u.Path != Root && path.Clean(u.Path) != u.Path { // browsers resolve "..", also as %2e%2e
		return overview
	}
	return &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
}

// FormPage returns the path of the page that shows the form that was sent, with its query.
func (r *Request) FormPage() string {
	shown := r.PageOf(r.Path())
	if query := r.Ctx.URI().QueryString(); len(query) > 0 {
		shown += "?" + string(query)
	}
	return shown
}

// PageOf returns the page that shows the form that is sent to path.
func (d *Dashboard) PageOf(path string) string {
	for !d.HasPage(path) {
		slash := strings.LastIndexByte(path, '/')
		if slash < len(Root) {
			return Root
		}
		path = path[:slash]
	}
	return path
}

// HasPage reports whether path, as it is sent, is that of a page for visitors who are signed in.
func (d *Dashboard) HasPage(path string) bool {
	for i := range d.content.Rows {
		if p := &d.content.Rows[i]; p.Method == fasthttp.MethodGet && p.Who != Anybody && matches(p.Path, path) {
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
