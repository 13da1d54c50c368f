package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

const campaigns = "/_/campaigns"

func TestACampaignMarksTheTarget(t *testing.T) {
	st, b := withAnn(t, nil)
	made := b.follow(b.open("/_/links").form("/_/links").with("url", "a.example/p?b=%2f&utm_medium=old#top", "alias", "x",
		"utm_source", "news letter", "utm_medium", "email", "utm_keep", "Weekly"))
	made.want("The link is ready.", "QR as SVG", "QR as PNG")
	expect.Equal(t, st.object("x").URL, "https://a.example/p?b=%2f&utm_medium=email&utm_source=news%20letter#top")

	page := b.open("/_/links/new")
	option := page.all("option", "")
	expect.That(t, strings.Contains(page.body, `data-source="news letter" data-medium="email"`), "got %d options, %s", len(option), page.body)
	b.follow(page.form("/_/links/new").with("url", "https://b.example/", "alias", "y", "utm_template", "Weekly", "utm_medium", "print"))
	expect.Equal(t, st.object("y").URL, "https://b.example/?utm_source=news%20letter&utm_medium=print", "without script a template fills empty fields")

	b.follow(b.open("/_/link/y/edit").form("/_/link/y/edit").with("utm_source", "other", "title", "T"))
	o := st.object("y")
	expect.That(t, o.URL == "https://b.example/?utm_source=other&utm_medium=print" && o.Title == "T", "after an edit: got %+v", o)
	b.follow(b.open("/_/link/y/edit").form("/_/link/y/edit").with("title", "U"))
	expect.Equal(t, st.object("y").URL, "https://b.example/?utm_source=other&utm_medium=print", "an edit without parameters")
}

func TestTemplatesOfCampaignsAreKeptAndDeleted(t *testing.T) {
	st, b := withAnn(t, nil)
	page := b.follow(b.open(campaigns).form(campaigns).with("name", "Spring <b>", "utm_source", "print", "utm_content", "a & b"))
	page.want("The template is saved.", "Spring <b>", "utm_source=print & utm_content=a & b")
	st.browseAs("ben@example.com", account.RoleMember).open(campaigns).want("There is no template yet.")
	for name, c := range map[string][3]string{
		"no name":   {"name", "", "Must not be empty."},
		"long name": {"name", strings.Repeat("x", 65), "Must be at most 64 bytes."},
		"no value":  {"utm_source", "", "Must be given, or another of the parameters."},
		"long term": {"utm_term", strings.Repeat("x", 201), "Must be at most 200 bytes."},
	} {
		form := b.open(campaigns).form(campaigns).with("name", "n")
		if c[0] != "utm_source" {
			form = form.with("utm_source", "kept")
		}
		page := b.submit(form.with(c[0], c[1]))
		expect.That(t, page.status == 422 && page.at("link-"+c[0]+"-error") == c[2], "%s: got %d %q", name, page.status, page.text())
	}
	b.follow(b.open(campaigns).form(campaigns+"/delete")).want("The template is deleted.", "There is no template yet.")
}

// A template that cannot be kept is an error of the form, and no link is made.
func TestALinkWaitsForItsTemplate(t *testing.T) {
	st, b := withAnn(t, nil)
	for i := range account.MaxCampaigns {
		b.follow(b.open(campaigns).form(campaigns).with("name", fmt.Sprint("n", i), "utm_source", "x"))
	}
	form := b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "utm_source", "x", "utm_keep", "one more")
	page := b.submit(form)
	expect.That(t, page.status == 422 && strings.Contains(page.at("link-utm_keep-error"), "50") && st.engine.Metrics().Links == 0,
		"got %d %q, %d links", page.status, page.at("link-utm_keep-error"), st.engine.Metrics().Links)
	b.follow(page.form("/_/links/new").with("utm_keep", "N7"))
	expect.Equal(t, st.engine.Metrics().Links, 1, "in place of another template")
}

// A form that is refused keeps no template, whatever it is refused for.
func TestATemplateWaitsForItsLink(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "alias", "x"))
	edited := b.open("/_/link/x/edit").form("/_/link/x/edit")
	for name, form := range map[string]*htmlForm{
		"a taken alias":  b.open("/_/links/new").form("/_/links/new").with("url", "https://b.example/", "alias", "x"),
		"no target":      b.open("/_/links/new").form("/_/links/new"),
		"a wrong target": edited.with("url", "ftp://b.example/"),
		"a wrong expiry": edited.with("expires_at", "never"),
	} {
		page := b.submit(form.with("utm_source", "print", "utm_keep", "Weekly"))
		expect.That(t, page.status/100 == 4, "%s: got %d", name, page.status)
	}
	b.open(campaigns).want("There is no template yet.")
	b.follow(edited.with("title", "T", "utm_source", "print", "utm_keep", "Weekly")).want("The link is saved.")
	b.open(campaigns).want("Weekly", "utm_source=print")
	expect.Equal(t, st.object("x").URL, "https://a.example/?utm_source=print")
}

func TestFormsSuggestTheTagsThatMostLinksHave(t *testing.T) {
	_, b := withAnn(t, nil)
	for i, tags := range []string{"rare, b", "often", "often", `often, "a, b"`, `"a, b"`} {
		b.follow(b.open("/_/links/new").form("/_/links/new").with("url", fmt.Sprint("https://a.example/", i), "tags", tags))
	}
	for _, path := range []string{"/_/", "/_/links", "/_/links/new", bulk} {
		page := b.open(path)
		var got []string
		for n := range page.element("used-tags").Descendants() {
			if n.Data == "option" {
				got = append(got, attribute(n, "value"))
			}
		}
		expect.Slices(t, got, []string{"often", `"a, b"`, "b", "rare"}, "%s", path)
	}
}

func TestALinkLikeAnotherHasItsFields(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/?x", "alias", "one", "title", "T", "note", "first\r\nsecond",
		"tags", "a, b", "expires_at", "2037-03-04T05:06", "max_hits", "7", "redirect_status", "308", "query", "append"))
	page := b.open("/_/link/one")
	page.want("Note first second")
	expect.Equal(t, st.object("one").Note, "first\nsecond")
	expect.Contains(t, page.body, `href="/_/links/new?like=one"`)
	page = b.open("/_/links/new?like=one")
	form := page.form("/_/links/new")
	expect.That(t, form.values.Get("alias") == "" && has(page.all("details", "more")[0], "open"), "the form: got %v", form.values)
	b.follow(form.with("alias", "two"))
	one, two := st.object("one"), st.object("two")
	two.Code, two.ShortURL, two.CreatedAt, two.UpdatedAt = one.Code, one.ShortURL, one.CreatedAt, one.UpdatedAt
	expect.Equal(t, fmt.Sprintf("%+v %v %v", two.Tags, *two.MaxHits, *two.ExpiresAt), fmt.Sprintf("%+v %v %v", one.Tags, *one.MaxHits, *one.ExpiresAt))
	expect.That(t, two.URL == one.URL && two.Title == one.Title && two.Note == one.Note && two.RedirectStatus == 308 && two.ForwardQuery, "got %+v", two)
	b.get("/_/links/new?like=none").expect(t, "a missing link", 404)
	st.browseAs("ben@example.com", account.RoleMember).get("/_/links/new?like=one").expect(t, "a foreign link", 404)
}
