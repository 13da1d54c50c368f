package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"shunt/engine/expect"
)

// A haunted server has the hostile strings in every field that a page shows.
type haunted struct {
	*server
	t                          *testing.T
	token                      string
	session                    []*http.Cookie
	titles, tags, names, mails []string          // what the server took of them
	targets                    map[string]string // by code, as the server has it
	cards                      map[string]card   // the same
	paths                      []string          // of pages about one token or user
}

// haunt fills a server's fields with what it takes of the hostile strings.
func haunt(t *testing.T) *haunted {
	t.Helper()
	h := &haunted{server: startServer(t, localhost, unlimited...), t: t, targets: make(map[string]string), cards: make(map[string]card)}
	h.addUser(h.server.token(), emails[admin], "admin")
	h.token = h.run("", "token", "add", "--user", emails[admin], "--name", "laptop")
	h.session = h.logIn(emails[admin], password)
	for i, text := range hostileStrings(t) {
		if short() && i%6 != 0 {
			continue
		}
		title, tag, name, mail := fmt.Sprintf("%d:%s", i, text), cut(text, 60), cut(text, 90), cut(text, 60)+"@example.com"
		if _, ok := h.takes("/shorten", map[string]any{"url": "https://example.org/", "alias": fmt.Sprint("l", i), "title": title}); ok {
			h.titles = append(h.titles, title)
		}
		if _, ok := h.takes("/shorten", map[string]any{"url": "https://example.org/?q=" + url.QueryEscape(text), "tags": []string{tag}}); ok {
			h.tags = append(h.tags, tag)
		}
		for _, target := range []string{text, "https://example.org/" + text, "https://example.org/?" + url.QueryEscape(text) + "#" + text} {
			if made, ok := h.takes("/shorten", map[string]any{"url": target}); ok {
				h.targets[made.Code] = made.URL
			}
		}
		for _, image := range []string{"https://example.org/" + text, "https://example.org/?" + url.QueryEscape(text)} {
			fields := map[string]any{"title": cut(text, 250), "description": text, "image": image}
			if made, ok := h.takes("/shorten", map[string]any{"url": "https://example.org/", "card": fields}); ok {
				h.cards[made.Code] = made.Card
			}
		}
		h.takes("/shorten", map[string]any{"url": "https://example.org/", "alias": text})
		if made, ok := h.takes("/tokens", map[string]any{"name": name}); ok {
			h.names = append(h.names, name)
			h.paths = append(h.paths, fmt.Sprintf("/_/tokens/%s/revoke", bytes.Trim(made.ID, `"`)))
		}
		if made, ok := h.takes("/users", map[string]any{"email": mail, "role": "member"}); ok {
			h.mails = append(h.mails, strings.ToLower(mail))
			h.paths = append(h.paths, fmt.Sprintf("/_/users/%s", made.ID), fmt.Sprintf("/_/users/%s/delete", made.ID))
		}
		h.haunts(text)
	}
	return h
}

// unlimited are the flags of servers that tests ask for more than people do.
var unlimited = []string{
	"--limit-creates", "off", "--limit-calls", "off", "--limit-misses", "off", "--limit-logins", "off", "--limit-address-logins", "off",
}

// made is what a call answers that makes something.
type made struct {
	ID        json.RawMessage // a text or a number
	Code, URL string
	Card      card
}

type card struct{ Title, Description, Image string }

// takes reports whether a call succeeds. What is refused must be refused with a reason.
func (h *haunted) takes(path string, body any) (m made, ok bool) {
	h.t.Helper()
	response, text := h.ask(h.token, http.MethodPost, path, body)
	expect.MustThat(h.t, response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests,
		"%s: got %d: %s", path, response.StatusCode, text)
	if response.StatusCode >= 300 {
		return m, false
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		h.t.Fatalf("%s: %v: %s", path, err, text)
	}
	return m, true
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

// open opens a tab of the admin.
func (h *haunted) open(open func(*testing.T, string) *tab) *tab {
	b := open(h.t, h.base)
	b.enter(h.session)
	return b
}

// least returns n, or the part of it that the short form fills in.
func least(n int) int {
	if short() {
		return n / 6
	}
	return n
}

// some returns all, or one in thirty in the short form.
func some[T any](all []T) (chosen []T) {
	for i, one := range all {
		if !short() || i%30 == 0 {
			chosen = append(chosen, one)
		}
	}
	return chosen
}

// Whatever people put into a field comes out as it went in, and nothing in any field runs.
func TestHostileStringsComeOutAsText(t *testing.T) {
	needBrowser(t)
	h := haunt(t)
	if least := least(60); len(h.titles) < least || len(h.tags) < least || len(h.names) < least || len(h.targets) < least || len(h.cards) < least {
		t.Errorf("the server took %d titles, %d tags, %d names of tokens, %d targets and %d cards, want at least %d of each",
			len(h.titles), len(h.tags), len(h.names), len(h.targets), len(h.cards), least)
	}
	b := h.open(openTab)
	t.Run("lists", func(t *testing.T) { h.lists(b) })
	t.Run("pages of one", func(t *testing.T) { h.pagesOfOne(b) })
	t.Run("cards", func(t *testing.T) { h.ofCards(b) })
	t.Run("addresses of pages", func(t *testing.T) { h.addresses(b) })
	t.Run("typed into forms", func(t *testing.T) { h.typed(b) })
	t.Run("pasted lines", func(t *testing.T) { h.pasted(b) })
	t.Run("imported lines, by script", func(t *testing.T) { h.imported(b) })
	t.Run("imported lines, without script", func(t *testing.T) { h.imported(h.open(openTabWithoutScript)) })
}

func (h *haunted) lists(b *tab) {
	b.wantTexts("/_/links", append(h.titles, h.tags...)...)
	b.wantTexts("/_/links?owner=all")
	b.wantTexts("/_/tokens", h.names...)
	b.wantTexts("/_/users", h.mails...)
	for _, path := range []string{"/_/", "/_/?owner=all", "/_/misses", "/_/system", "/_/account", "/_/link/l0"} {
		b.wantTexts(path)
	}
}

// pagesOfOne looks at what is about one link, token or user.
func (h *haunted) pagesOfOne(b *tab) {
	for _, title := range some(h.titles) {
		number, _, _ := strings.Cut(title, ":")
		for _, end := range []string{"", "/edit", "/delete"} {
			b.visit("/_/link/l"+number+end, http.StatusOK)
			b.wantText(title)
		}
	}
	for _, code := range some(slices.Sorted(maps.Keys(h.targets))) {
		b.visit("/_/link/"+code, http.StatusOK)
		b.wantText(h.targets[code])
		b.visit("/"+code+"+", http.StatusOK)
		b.wantText() // it spells what looks like something else
	}
	for _, path := range some(h.paths) {
		b.visit(path, http.StatusOK)
		b.wantText()
	}
}

// ofCards looks at cards, as their owner does and as programs that show previews do.
func (h *haunted) ofCards(b *tab) {
	chat := openTab(h.t, h.base)
	chat.actAs("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)")
	for i, code := range some(slices.Sorted(maps.Keys(h.cards))) {
		of := h.cards[code]
		b.visit("/_/link/"+code+[]string{"", "/edit"}[i%2], http.StatusOK)
		b.wantText(of.Title, of.Description, of.Image)
		chat.visit("/"+code, http.StatusOK)
		chat.wantText(of.Title, of.Description)
	}
}

// actAs has the tab send a User-Agent.
func (b *tab) actAs(agent string) {
	b.t.Helper()
	call(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent})
}

// addresses puts the strings into the queries of pages that show them.
func (h *haunted) addresses(b *tab) {
	for _, path := range []string{"/_/links/new?alias=", "/_/links?q=", "/_/links?tag=", "/_/links?state=", "/_/links?owner=", "/_/link/l0?from=",
		"/_/users?q=", "/_/sign-in?next=", "/_/setup?code=", "/_/", "/_/link/"} {
		for _, text := range some(hostileStrings(h.t)) {
			b.anyAnswer(path + url.QueryEscape(text))
			b.wantText()
		}
	}
}

// typed types the strings into forms, which refuse most of them, and show them again.
func (h *haunted) typed(b *tab) {
	other := openTab(h.t, h.base)
	for _, text := range some(hostileStrings(h.t)) {
		b.visit("/_/links/new", http.StatusOK)
		b.unfold("Title, tags, expiry and more", field("Title"))
		b.unfold("Card for previews in chats", field("Title of the card"))
		for _, name := range []string{"Target", "Alias", "Title", "Tags", "Click limit", "Rules", "Split", "Title of the card", "Description", "Address of an image"} {
			b.fill(field(name), text)
		}
		b.submitAny(button("Create the link"))
		b.wantText()
		other.visit("/_/sign-in", http.StatusOK)
		other.fill(field("E-mail"), text)
		other.fill(field("Password"), text)
		other.submitAny(button("Sign in"))
		other.wantText()
	}
	b.visit("/_/links", http.StatusOK)
	for _, text := range some(hostileStrings(h.t)) {
		if len(text) > 100 || strings.ContainsFunc(text, unicode.IsControl) {
			continue // the search refuses it, and the browser says so on its console
		}
		b.click(field("Search"))
		b.fill(field("Search"), text)
		b.until("it has searched", func() bool {
			return read[bool](b, `document.readyState === 'complete' && !document.querySelector('#results[aria-busy]') &&
				(new URLSearchParams(location.search).get('q') ?? '') === document.getElementById('q').value`)
		})
		b.wantText()
	}
}

// pasted pastes all of them as addresses.
func (h *haunted) pasted(b *tab) {
	lines := strings.Join(hostileStrings(h.t), "\n")
	b.visit("/_/links/bulk", http.StatusOK)
	b.fill(field("Addresses or CSV"), lines)
	b.fill(field("Tags for all of them"), "<b>tag</b>")
	b.submitAny(button("Create the links"))
	b.sees("refused")
	shown := eval[[]string](b, "[...document.querySelectorAll('#results tbody tr')].map(r => r.cells[1].textContent)")
	expect.That(h.t, len(shown) >= 60, "the result has %d lines, want at least 60", len(shown))
	b.wantText(slices.DeleteFunc(strings.Split(lines, "\n"), func(line string) bool { return len(line) > 300 || strings.ContainsAny(line, "\x00\r") })...)
}

// imported imports all of them as lines, and as the fields of lines.
func (h *haunted) imported(b *tab) {
	var file strings.Builder
	for i, text := range hostileStrings(h.t) {
		for _, fields := range []map[string]any{
			{"code": text, "url": "https://example.org/"},
			{"code": fmt.Sprint("u", i), "url": text},
			{"code": fmt.Sprint("f", i), "url": "https://example.org/", "title": text, "tags": []string{text}},
			{text: text, "url": "https://example.org/"},
		} {
			line, _ := json.Marshal(fields)
			file.Write(append(line, '\n'))
		}
		file.WriteString(text + "\n")
	}
	b.visit("/_/transfer", http.StatusOK)
	b.choose("file", writeFile(h.t, "hostile.ndjson", []byte(file.String())))
	if b.script {
		b.click(button("Import"))
		b.sees("Done.")
	} else {
		b.submitAny(button("Import"))
	}
	lines := eval[int](b, "document.querySelectorAll('.progress li, main table tbody tr').length")
	expect.That(h.t, lines >= 60, "the result has %d lines that were refused, want at least 60", lines)
	b.wantText()
}

// submitAny clicks e, which loads a page, whatever the status of its answer.
func (b *tab) submitAny(e thing) {
	b.t.Helper()
	b.awaitPage(func() { b.click(e) })
	b.drawn(focusPatience)
}

// The name of the brand is on every page of everybody.
func TestHostileBrandsComeOutAsText(t *testing.T) {
	needBrowser(t)
	for _, name := range some(hostileStrings(t)) {
		t.Run("", func(t *testing.T) {
			s, err := tryServer(t, localhost, "--brand-name", name)
			expect.That(t, err == nil || strings.Contains(err.Error(), "brand-name"), "%q: %v", name, err)
			if err != nil {
				return
			}
			b := openTab(t, s.base)
			for _, path := range []string{"/", "/missing", "/_/docs", "/_/sign-in"} {
				b.anyAnswer(path)
				b.wantText(name)
			}
		})
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
	b.awaitPage(func() { call(b, page.Navigate, page.NavigateParams{URL: b.base + path}) })
}
