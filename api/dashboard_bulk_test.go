package api

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/sheet"
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
	page.want("2 links are ready. 2 lines were refused.")
	lines := outcomes(page)
	expect.MustThat(t, len(lines) == 4 && lines[0] == "4 nonsense Must be an absolute address, with http:// or https:// before it." &&
		strings.HasPrefix(lines[1], "5 https://c.example/xxx") && strings.Contains(lines[1], "8192") && len(lines[1]) <= 500 &&
		strings.HasPrefix(lines[2], "1 https://a.example/ http://127.0.0.1:8080/") &&
		strings.HasPrefix(lines[3], `3 https://b.example/?x="<i> http://127.0.0.1:8080/`), "got %d %.3000q", page.status, lines)
	for i, short := range strings.Fields(page.at("short-addresses")) {
		o := st.object(strings.TrimPrefix(short, "http://127.0.0.1:8080/"))
		want := []string{"https://a.example/", `https://b.example/?x="<i>`}[i]
		expect.That(t, o.URL == want && slices.Equal(o.Tags, []string{"news", "x"}), "%s: got %+v, want %s", short, o, want)
	}
	again := b.submit(form)
	got := outcomes(again)
	expect.That(t, st.engine.Metrics().Links == 2 && slices.Equal(got[2:], lines[2:]), "the same form again: %d links, %.500q", st.engine.Metrics().Links, got)
	rest := page.form(bulk)
	if got := rest.values.Get("addresses"); !strings.HasPrefix(got, "nonsense\r\nhttps://c.example/xxx") || rest.values.Get("key") == form.values.Get("key") {
		t.Errorf("the next form: got %.60q, key %q", got, rest.values.Get("key"))
	}
	b.submit(rest.with("addresses", "https://d.example/")).want("1 link is ready")
}

// sendFile sends a form as a browser does that has chosen a file.
func (b *plainBrowser) sendFile(f *htmlForm, text string) *shown {
	b.st.t.Helper()
	var body strings.Builder
	for name, values := range f.values {
		fmt.Fprintf(&body, "--xyz\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, values[0])
	}
	fmt.Fprintf(&body, "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"links.csv\"\r\nContent-Type: text/csv\r\n\r\n%s\r\n--xyz--\r\n", text)
	return b.post(f.action, "multipart/form-data; boundary=xyz", body.String())
}

const someSheet = "\ufeffURL;Alias;Title;Tags;Expires at;Note\r\n" +
	"https://a.example/;spring;\"Spring; \"\"sale\"\"\";\"a, b\";2030-12-31;for Ann\r\n" +
	"b.example/x;summer;;;;\r\n" +
	"https://c.example/;spring;;;;\r\n" +
	"https://d.example/;x y;;;;\r\n" +
	"=cmd();;;;soon;\r\n"

func TestASheetMakesLinksWithAllItsColumns(t *testing.T) {
	st, b := withAnn(t, nil)
	form := b.open(bulk).form(bulk).with("tags", "news")
	page := b.sendFile(form, someSheet)
	page.want("2 links are ready. 3 lines were refused.")
	o := st.object("spring")
	got := fmt.Sprintf("%s|%s|%s|%q|%s", o.URL, o.Title, o.Note, o.Tags, o.ExpiresAt.Format(time.RFC3339))
	expect.Equal(t, got, `https://a.example/|Spring; "sale"|for Ann|["a" "b" "news"]|2030-12-31T23:59:59Z`)
	expect.Equal(t, st.object("summer").URL, "https://b.example/x")
	lines := outcomes(page)
	expect.MustThat(t, len(lines) == 5 && strings.HasPrefix(lines[0], "4 https://c.example/ ") && strings.Contains(lines[0], "taken") &&
		strings.HasPrefix(lines[1], "5 https://d.example/ alias: ") && strings.HasPrefix(lines[2], "6 =cmd() "), "got %q", lines)
	again := b.sendFile(form, someSheet)
	expect.That(t, st.engine.Metrics().Links == 2, "the same file again: %d links, %q", st.engine.Metrics().Links, outcomes(again))
	rest := page.form(bulk)
	expect.That(t, strings.HasPrefix(rest.values.Get("addresses"), "URL;Alias;") && strings.Contains(rest.values.Get("addresses"), "https://c.example/;spring"),
		"to correct: got %q", rest.values.Get("addresses"))
	b.submit(rest.with("addresses", strings.NewReplacer("spring", "autumn", "x y", "winter", "=cmd()", "e.example", "soon", "").Replace(rest.values.Get("addresses")))).
		want("3 links are ready")
}

func TestResultsOfABulkAreAFile(t *testing.T) {
	_, b := withAnn(t, nil)
	var text strings.Builder
	text.WriteString("url,alias\n")
	for i := range 250 {
		fmt.Fprintf(&text, "https://a.example/%d,n-%d\n", i, i)
	}
	page := b.sendFile(b.open(bulk).form(bulk), text.String()+"=1+1,\n")
	page.want("250 links are ready. 1 line was refused.")
	results := bulk + "/results"
	answer := b.submit(page.form(results))
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(answer.body, "\ufeff"))).ReadAll()
	expect.MustThat(t, err == nil && len(rows) == 252 && answer.header.Get("Content-Type") == "text/csv; charset=utf-8" &&
		answer.header.Get("Content-Disposition") == `attachment; filename="short-links.csv"`, "got %d rows, %v, %v", len(rows), err, answer.header)
	expect.Slices(t, rows[0], []string{"code", "short_url", "url", "error"})
	expect.Slices(t, rows[250], []string{"n-249", "http://127.0.0.1:8080/n-249", "https://a.example/249", ""})
	last := rows[251]
	expect.That(t, last[0] == "" && last[1] == "" && last[2] == "'=1+1" && last[3] != "", "the refused row: got %q", last)
}

func TestABulkThatCannotBeDoneKeepsWhatWasTyped(t *testing.T) {
	st, b := withAnn(t, nil)
	for name, c := range map[string]struct{ addresses, tags, at, want string }{
		"nothing":         {" \r\n\r\n", "", "addresses-error", "Must have at least one address."},
		"1,001 lines":     {strings.Repeat("http://a/\r\n", 1001), "", "addresses-error", "Must have at most 1000 addresses at a time."},
		"a long tag":      {"http://a/\r\nhttp://b/", "x, " + strings.Repeat("x", 65), "tags-error", "Tag 2: must be at most 64 bytes."},
		"too many tags":   {"http://a/", strings.Join(strings.Fields(strings.Repeat("x ", 40)), "y,") + "," + manyTags(33), "tags-error", "Must be at most 32 tags."},
		"a foreign head":  {"url,budget\r\nhttp://a/,5", "", "addresses-error", "The column “budget” is not known: a sheet may have " + sheet.Names() + "."},
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
	made := b.submit(form)
	for range 10 {
		if made.status == 503 { // a busy machine: as the page says, nothing is made twice
			made = b.submit(form)
		}
	}
	made.want("1,000 links are ready")
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
