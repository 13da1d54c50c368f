package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

const bulk = "/_/links/bulk"

// outcomes returns the lines of a result: number, address, and short address or error.
func outcomes(p *shown) (lines []string) {
	for n := range p.doc.Descendants() {
		if n.Data != "tr" || n.Parent.Data != "tbody" {
			continue
		}
		var cells []string
		for cell := range n.ChildNodes() {
			if text := strings.TrimSpace(textOf(cell)); text != "" {
				cells = append(cells, text)
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

func TestSeveralAddressesGetResultsByLine(t *testing.T) {
	st, b := withAnn(t, nil)
	form := b.open(bulk).form(bulk).with("tags", "news, x",
		"addresses", "https://a.example/\r\n\r\n  https://b.example/?x=\"<i>  \r\nnonsense\r\nhttps://c.example/"+strings.Repeat("x", 9000)+"\r\n")
	page := b.submit(form)
	page.want("2 links are ready, 2 lines were refused")
	lines := outcomes(page)
	expect.MustThat(t, len(lines) == 4 && strings.HasPrefix(lines[0], "1 https://a.example/ http://127.0.0.1:8080/") &&
		strings.HasPrefix(lines[1], `3 https://b.example/?x="<i> http://127.0.0.1:8080/`) &&
		lines[2] == "4 nonsense Must be an absolute address, with http:// or https:// before it." && strings.HasPrefix(lines[3], "5 https://c.example/xxx") &&
		strings.Contains(lines[3], "8192") && len(lines[3]) <= 500, "got %d %.3000q", page.status, lines)
	for i, short := range strings.Fields(page.at("short-addresses")) {
		o := st.object(strings.TrimPrefix(short, "http://127.0.0.1:8080/"))
		want := []string{"https://a.example/", `https://b.example/?x="<i>`}[i]
		expect.That(t, o.URL == want && slices.Equal(o.Tags, []string{"news", "x"}), "%s: got %+v, want %s", short, o, want)
	}
	again := b.submit(form)
	got := outcomes(again)
	expect.That(t, st.engine.Metrics().Links == 2 && slices.Equal(got[:2], lines[:2]), "the same form again: %d links, %.500q", st.engine.Metrics().Links, got)
	rest := page.form(bulk)
	if got := rest.values.Get("addresses"); !strings.HasPrefix(got, "nonsense\r\nhttps://c.example/xxx") || rest.values.Get("key") == form.values.Get("key") {
		t.Errorf("the next form: got %.60q, key %q", got, rest.values.Get("key"))
	}
	b.submit(rest.with("addresses", "https://d.example/")).want("1 link is ready")
}

func TestABulkThatCannotBeDoneKeepsWhatWasTyped(t *testing.T) {
	st, b := withAnn(t, nil)
	for name, c := range map[string]struct{ addresses, tags, at, want string }{
		"nothing":         {" \r\n\r\n", "", "addresses-error", "Must have at least one address."},
		"1,001 lines":     {strings.Repeat("http://a/\r\n", 1001), "", "addresses-error", "Must have at most 1000 addresses at a time."},
		"a long tag":      {"http://a/\r\nhttp://b/", "x, " + strings.Repeat("x", 65), "tags-error", "Tag 2: must be at most 64 bytes."},
		"too many tags":   {"http://a/", strings.Join(strings.Fields(strings.Repeat("x ", 40)), "y,") + "," + manyTags(33), "tags-error", "Must be at most 32 tags."},
		"tags of 9,000 B": {"http://a/", strings.Repeat("x", 9000), "tags-error", "Must be shorter."},
	} {
		page := b.submit(b.open(bulk).form(bulk).with("addresses", c.addresses, "tags", c.tags))
		again := page.form(bulk).values
		if got := page.at(c.at); page.status != 422 || got != c.want || again.Get("addresses") != c.addresses || again.Get("tags") != c.tags {
			t.Errorf("%s: got %d %q, want %q", name, page.status, got, c.want)
		}
	}
	expect.Equal(t, st.engine.Metrics().Links, 0, "links")
}

// fasthttp keeps the memory of a form's fields for later requests.
func TestAFormOfManyFieldsIsRefused(t *testing.T) {
	st, b := withAnn(t, nil)
	page := b.post(bulk, formType, strings.Repeat("&", 255))
	page.expect(t, "256 fields", 422)
	page = b.post(bulk, formType, "addresses=https%3A%2F%2Fa.example%2F"+strings.Repeat("&", 256))
	if page.want("The form has more than 256 fields."); page.status != 400 || st.engine.Metrics().Links != 0 {
		t.Errorf("257 fields: got %d", page.status)
	}
}

func TestHostileTextsOfABulkAreNotShownWhole(t *testing.T) {
	_, b := withAnn(t, nil)
	values := url.Values{"key": {strings.Repeat(`"`, 1<<20)}, "tags": {strings.Repeat(`"`, 1<<20)}, "addresses": {"\xff\r\nhttps://a.example/"}}
	page := b.post(bulk, formType, values.Encode())
	if page.want("Must be shorter."); page.status != 422 || len(page.body) > 200<<10 {
		t.Errorf("got %d with %d bytes", page.status, len(page.body))
	}
}

func TestTagsAreRefusedWhateverTheFirstLineIs(t *testing.T) {
	_, b := withAnn(t, nil)
	page := b.submit(b.open(bulk).form(bulk).with("addresses", "\xff\r\nhttps://a.example/", "tags", "x, "+strings.Repeat("x", 65)))
	expect.Equal(t, page.at("tags-error"), "Tag 2: must be at most 64 bytes.", "got %d", page.status)
}

func manyTags(n int) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprint("t", i)
	}
	return strings.Join(tags, ", ")
}

// A large form is read only if its sender is signed in; a token does not count on pages.
func TestALargeFormNeedsASession(t *testing.T) {
	st, b := withAnn(t, nil)
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "https://a.example/%d?%s\r\n", i, strings.Repeat("x=&", 1000))
	}
	form := b.open(bulk).form(bulk).with("addresses", text.String())
	n := len(form.values.Encode())
	expect.MustThat(t, n >= 6<<20 && n <= 8<<20, "the form has %d bytes", n)
	for name, lines := range map[string][]string{
		"nobody": nil, "a wrong session": {"Cookie: shunt_session=x"}, "a token": {"Authorization: Bearer " + st.token},
	} {
		lines := append(slices.Clone(lines), ownPage, "Content-Type: application/x-www-form-urlencoded")
		r := send(t, st.publicAt, "POST", requestText("POST", bulk, form.values.Encode(), lines...))
		r.expect(t, name, 413, "Go back and send less at once.", some("Content-Security-Policy"))
	}
	b.submit(form).want("1,000 links are ready")
	form.values.Set("addresses", text.String()+strings.Repeat(" ", 3<<20))
	b.submit(form).expect(t, "beyond the limit", 413)
	b.post("/_/links/new", formType, url.Values{"url": {strings.Repeat("x", 80<<10)}}.Encode()).expect(t, "another form", 413)
}

func TestAFormOfSeveralLinksCountsEach(t *testing.T) {
	st := limitedSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	b.at = st.from("192.0.2.1")
	page := b.submit(b.open(bulk).form(bulk).with("addresses", strings.Repeat("https://a.example/\r\n", 500)))
	expect.That(t, page.status == 429 && page.header.Get("Retry-After") != "" && page.form(bulk).values.Get("addresses") != "" &&
		st.engine.Metrics().Links == 0, "got %d %.300s", page.status, page.text())
}
