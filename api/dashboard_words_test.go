package api

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/api/dashboard"
	"shunt/api/folder"
	"shunt/api/words"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/texts"
)

// marked has the texts of pages between brackets, so that what is outside of them is not in the catalog.
var marked = words.New(words.Every(func(key string) string { return "⟦" + key + "⟧" }))

// data are texts of the test itself.
var data = []string{"f", "f ( 1)", "owner@example.com", "owner@example.com,", "x", "t", "https:/", "example", ".com/", "b.test", "n", "UTC", "E",
	"admin", "test", "new.test", "new@example.com", "frankfurt", "example.com", "http://", "https://example.com/", "example.com/", "ShareX", "Shortcuts", "n8n", "curl", "c", "robots.txt", "b.test:", "frankfurt:", "shunt:", "Go:"}

// ours are addresses of links of the test, ids, names of metrics, which a tooltip has, and durations.
var ours = regexp.MustCompile(`(http://)?127\.0\.0\.1:8080\S*|^[a-z]{16}$|^[A-Za-z0-9]{16}$|^(shunt|go|process)_\w+$|^\(?(\d{4}-\d\d-\d\d \d\d:\d\d )?UTC\)?$|^https://$|^/(_/|session).*$|^go1\S*$|^[\d.]+ (µs|ms|s|min|h|d)( \d+ (min|h))?$`)

// ofSite ends the title of a page, which may be the name of something before it.
const ofSite = " · 127.0.0.1:8080"

// unmarked returns the texts of a page that are in no brackets, and are no data of the test.
func unmarked(page string) (texts []string) {
	depth := 0
	for _, text := range textsOf(page) {
		var outside strings.Builder
		for _, r := range text {
			switch {
			case r == '⟦':
				depth++
			case r == '⟧':
				depth--
			case depth == 0:
				outside.WriteRune(r)
			}
		}
		if text = strings.TrimSuffix(outside.String(), ofSite); !isData(text) && !slices.Contains(texts, text) {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return texts
}

// isData reports whether a text is no text of ours.
func isData(text string) bool {
	text = strings.TrimSpace(ours.ReplaceAllString(strings.TrimSpace(text), ""))
	return !strings.ContainsFunc(text, unicode.IsLetter) || slices.Contains(data, text)
}

// textsOf returns what people read on a page, and in the attributes that are read to them.
func textsOf(page string) (texts []string) {
	doc, _ := html.Parse(strings.NewReader(page))
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			texts = append(texts, n.Data)
			return
		case n.Type == html.ElementNode && slices.Contains([]string{"script", "style", "code", "kbd", "pre", "bdi", "textarea"}, n.Data):
			return
		}
		for _, a := range n.Attr {
			if a.Key == "translate" && a.Val == "no" {
				return
			}
			if slices.Contains([]string{"aria-label", "title", "placeholder", "alt", "data-label", "data-say"}, a.Key) {
				texts = append(texts, a.Val)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	return texts
}

// inLanguage opens a page, or sends its form, on a site of its own, in a language.
func inLanguage(t *testing.T, p dashboard.Page, languages *words.Languages, language string) (page string) {
	t.Helper()
	_, admin, token := siteOfRows(t, newSite(t, func(o *Options) {
		o.Languages = languages
		fetching(o)
	}))
	admin.post("/_/account/language", formType, "language="+language)
	admin.open("/_/account") // which says so
	got := admin.askFor(p, pathOf(p, token))
	if at := got.header.Get("Location"); at != "" && got.status == 303 {
		got = admin.get(at) // which says what was done
	}
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		return ""
	}
	return got.body
}

// everyTextOf calls do with each page of the dashboard, but streams and the form that chooses another language.
func everyTextOf(t *testing.T, do func(t *testing.T, p dashboard.Page)) {
	for _, p := range dashboard.Pages() {
		if !streams(p) && p.Path != "/_/account/language" {
			t.Run(p.Method+" "+p.Path, func(t *testing.T) { do(t, p) })
		}
	}
}

// TestEveryTextOfPagesIsInTheCatalog opens every page, and sends every form.
func TestEveryTextOfPagesIsInTheCatalog(t *testing.T) {
	everyTextOf(t, func(t *testing.T, p dashboard.Page) {
		texts := unmarked(inLanguage(t, p, marked, "x-every"))
		expect.Equal(t, strings.Join(texts, " | "), "", "texts outside of the catalog")
	})
}

// german has texts that are the same as in English, too: somebody has thought of them.
var german = words.New().For("de", "")

// TestGermanHasEveryTextOfALink: what only begins like a text of the catalog would be German up to there, and no test
// of a page sees that.
func TestGermanHasEveryTextOfALink(t *testing.T) {
	for _, text := range texts.All() {
		for _, key := range []string{text.Label, text.Hint, text.Name, text.Name + ": {0}"} {
			expect.That(t, german.Has(key), "%q has no German text", key)
		}
	}
}

// TestPagesInGermanHaveNoEnglishText compares every page with itself in English.
func TestPagesInGermanHaveNoEnglishText(t *testing.T) {
	everyTextOf(t, func(t *testing.T, p dashboard.Page) {
		english := textsOf(inLanguage(t, p, nil, "en"))
		var left []string
		for _, text := range textsOf(inLanguage(t, p, nil, "de")) {
			word := strings.TrimSuffix(strings.TrimSpace(text), ofSite)
			if slices.Contains(english, text) && !isData(word) && !german.Has(strings.TrimSuffix(word, ":")) && !slices.Contains(left, word) {
				left = append(left, word)
			}
		}
		expect.Equal(t, strings.Join(left, " | "), "", "texts that are the same in English")
	})
}

// TestWhatUsersTypedIsNotTranslated has names that are texts of the catalog, too, and a choice whose values are for the
// server.
func TestWhatUsersTypedIsNotTranslated(t *testing.T) {
	st := newSite(t, nil)
	boss := st.person("boss@example.com", account.RoleAdmin)
	expect.That(t, german.Say("read") == "lesen" && german.Say("Overview") == "Übersicht", "the names of this test are no texts")
	_, err := st.folders.Add(account.CallerOf(boss), folder.Folder{Name: "Overview", Owner: boss.ID})
	expect.OK(t, err)
	token := st.issue(account.CallerOf(boss), account.AllScopes...)
	st.callAs(token, "POST", "/shorten", `{"url":"https://example.com/","alias":"read","folder":1,"tags":["t"]}`).need(t, "", 201)
	b := st.browse("boss@example.com")
	b.post("/_/account/language", formType, "language=de")
	list := b.open("/_/links")
	for _, state := range []string{"active", "disabled"} {
		expect.Contains(t, list.body, `<option value="`+state+`">`+german.Say(state)+`</option>`, "the choice of a state")
	}
	b.change(list, "tag", []string{"read"}, "tags", strings.ReplaceAll(manyTags(engine.MaxTags), "t", "u")).want("read: Dürfen höchstens 32 Schlagwörter sein.")
	for _, of := range []string{"code=read", "folder=1"} {
		want := map[string]string{"code=read": ">read</a>", "folder=1": ">Overview</a>"}[of]
		expect.Contains(t, b.open("/_/by?country=DE&"+of).body, want, of)
	}
}

func TestPublicPagesHaveTheLanguageOfTheBrowser(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.com/","alias":"x"}`)
	st.shorten(`{"url":"https://example.com/","alias":"off","disabled":true}`)
	st.shorten(`{"url":"https://example.com/","alias":"capped","max_hits":5}`)
	st.shorten(`{"url":"https://example.com/","alias":"old","expires_at":"` + time.UnixMilli(st.now.Load()).UTC().Add(time.Minute).Format(time.RFC3339) + `"}`)
	st.shorten(`{"url":"https://example.com/","alias":"locked","password":"secret"}`)
	st.now.Add(time.Hour.Milliseconds())
	for _, path := range []string{"/", "/nothing", "/off", "/old", "/x+", "/capped+", "/locked", "/locked+", "/_/nosuchpage", "/_/sign-in"} {
		english, page := st.get(path, browser), st.get(path, browser, "Accept-Language: de-CH,de;q=0.9,en;q=0.5")
		expect.Equal(t, page.status, english.status, "%s: status", path)
		expect.Contains(t, english.body, `<html lang="en">`, path)
		expect.Contains(t, page.body, `<html lang="de">`, path)
		for _, text := range textsOf(page.body) {
			if word := strings.TrimSuffix(strings.TrimSpace(text), ofSite); slices.Contains(textsOf(english.body), text) && !isData(word) && !german.Has(word) {
				t.Errorf("%s: %q is English", path, text)
			}
		}
	}
	expect.Contains(t, strings.Join(st.get("/", browser).header.Values("Vary"), ", "), "Accept-Language", "the page at the root, which caches keep")
	st.get("/nothing", browser, "Accept-Language: de", "Accept: application/json").expect(t, "a problem is for programs", problemOf("not_found"))
	expect.Contains(t, st.get("/nothing", browser, "Accept-Language: tlh").body, `<html lang="en">`, "a language that is not there")
}
