package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto/page"
)

// A haunted server has the hostile strings in every field that a page shows.
type haunted struct {
	*server
	titles, tags, names []string // what the server took of them
}

// haunt fills a server's fields with what it takes of the hostile strings.
func haunt(t *testing.T) *haunted {
	t.Helper()
	h := &haunted{server: startServer(t, localhost, "--limit-creates", "off", "--limit-calls", "off", "--limit-misses", "off")}
	root := h.token()
	h.addUser(root, emails[admin], "admin")
	token := h.run("", "token", "add", "--user", emails[admin], "--name", "laptop")
	for i, text := range hostileStrings(t) {
		title, tag, name := fmt.Sprintf("%d:%s", i, text), cut(text, 60), cut(text, 90)
		if h.takes(token, "/shorten", map[string]any{"url": "https://example.org/", "alias": fmt.Sprint("l", i), "title": title}) {
			h.titles = append(h.titles, title)
		}
		if h.takes(token, "/shorten", map[string]any{"url": "https://example.org/?q=" + url.QueryEscape(text), "tags": []string{tag}}) {
			h.tags = append(h.tags, tag)
		}
		if h.takes(token, "/tokens", map[string]any{"name": name}) {
			h.names = append(h.names, name)
		}
		h.takes(token, "/users", map[string]any{"email": text + "@example.com", "role": "member"})
		h.haunts(text)
	}
	return h
}

// takes reports whether a call succeeds. What is refused must be refused with a reason.
func (h *haunted) takes(token, path string, body any) bool {
	h.t.Helper()
	response, text := h.ask(token, http.MethodPost, path, body)
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
		h.t.Fatalf("%s: got %d: %s", path, response.StatusCode, text)
	}
	return response.StatusCode < 300
}

// haunts sends text as what visitors send: User-Agent, referrer and unknown code.
func (h *haunted) haunts(text string) {
	header := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1 // no client can send it
		}
		return r
	}, text)
	h.hit("l0", 1, visitor{agent: "Mozilla/5.0 " + header, referrer: "https://" + header + ".example/" + header})
	h.hit(url.PathEscape(text), 1, visitor{agent: header, referrer: header})
}

// cut returns the beginning of a text, n bytes or less.
func cut(text string, n int) string {
	for len(text) > n {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// Titles, tags and names of tokens come out as they went in, and nothing in any field runs.
func TestHostileStringsComeOutAsText(t *testing.T) {
	needBrowser(t)
	h := haunt(t)
	if len(h.titles) < 60 || len(h.tags) < 60 || len(h.names) < 60 {
		t.Errorf("the server took %d titles, %d tags and %d names of tokens, want at least 60 of each", len(h.titles), len(h.tags), len(h.names))
	}
	b := openTab(t, h.base)
	b.enter(h.logIn(emails[admin], password))
	b.wantTexts("/_/links", append(h.titles, h.tags...)...)
	b.wantTexts("/_/tokens", h.names...)
	for _, path := range []string{"/_/", "/_/users", "/_/misses", "/_/system", "/_/link/l0"} {
		b.wantTexts(path)
	}
	for _, form := range []string{"/_/links/new?alias=", "/_/links?q=", "/_/links?tag=", "/_/sign-in?next=", "/_/setup?code="} {
		for i, text := range hostileStrings(t) {
			if !short() || i%10 == 0 {
				b.anyAnswer(form + url.QueryEscape(text))
				b.wantText()
			}
		}
	}
	for i, title := range h.titles {
		if !short() || i%10 == 0 {
			number, _, _ := strings.Cut(title, ":")
			b.visit("/_/link/l"+number, http.StatusOK)
			b.wantText(title)
		}
	}
}

// wantTexts checks that a list, on all of its pages, has each of the texts as text.
func (b *tab) wantTexts(path string, texts ...string) {
	b.t.Helper()
	left := texts
	for b.visit(path, http.StatusOK); ; b.follow(b.nextPage()) {
		content := asShown(b.content())
		left = slices.DeleteFunc(slices.Clone(left), func(text string) bool { return strings.Contains(content, asShown(text)) })
		b.wantText() // nothing that is not the page's own
		if !b.has(b.nextPage()) {
			break
		}
	}
	for _, text := range left {
		b.t.Errorf("%s: no page of it has %q as text", path, asShown(text))
	}
}

// nextPage is the link to the next page of a list.
func (b *tab) nextPage() thing {
	b.t.Helper()
	return link(eval[string](b, `[...document.querySelectorAll('nav.pager a')].map(e => e.textContent.trim()).find(t => t === 'Older' || t === 'More') ?? ''`))
}

// anyAnswer opens the page at path, whatever the status of its answer.
func (b *tab) anyAnswer(path string) {
	b.t.Helper()
	before := b.watch.loads()
	call(b, page.Navigate, page.NavigateParams{URL: b.base + path})
	b.until("a page loads", func() bool { return b.watch.loads() > before })
}
