package api

import (
	stdhtml "html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/api/words"
	"shunt/engine/expect"
)

func TestTheReferencePageHasAllOfTheDocument(t *testing.T) {
	st := newSite(t, nil)
	page := st.get("/_/docs").body
	doc := theContract().doc
	want := func(what, markup string) {
		t.Helper()
		expect.That(t, strings.Contains(page, markup), "the page does not have %s: %s", what, markup)
	}
	for operation := range theContract().operations() {
		_, path, _ := strings.Cut(operation.name, " ")
		want(operation.name, `<section id="`+operation.OperationID+`">`)
		want(operation.name, "<code>/api/v1"+path+"</code>")
		want(operation.name+" in the contents", `<li><a href="#`+operation.OperationID+`">`)
		for _, p := range operation.Parameters {
			want("a parameter of "+operation.name, "<code>"+p.Value.Name+"</code>")
		}
	}
	for name, schema := range doc.Components.Schemas {
		for field := range schema.Value.Properties {
			want("a field of "+name, "<code>"+field+"</code>")
		}
	}
	for _, code := range theContract().problemCodes() {
		want("the problem "+code, "</span> "+code+"</a></h3>")
	}
}

func TestEveryFieldOfTheReferencePageHasAType(t *testing.T) {
	page := newSite(t, nil).get("/_/docs").body
	types := regexp.MustCompile(`<td class="type">(?:<a [^>]*>)?([^<]*)`).FindAllStringSubmatch(page, -1)
	for _, kind := range types {
		text := kind[1]
		expect.That(t, text != "" && !strings.HasSuffix(text, " of ") && !strings.HasPrefix(text, " "), "a field is of the type %q", text)
	}
	expect.That(t, len(types) >= 100 && strings.Contains(page, ">301 · 302 · 307 · 308 · null<"),
		"there are %d types; redirect_status is not among them, or not as it should be", len(types))
}

func TestEveryLinkWithinTheReferencePageLeadsSomewhere(t *testing.T) {
	st := newSite(t, nil)
	page := st.get("/_/docs").body
	targets := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	expect.That(t, len(targets) >= 100, "got %d links", len(targets))
	for _, target := range targets {
		fragment, within := strings.CutPrefix(target[1], "#")
		expect.That(t, !within || strings.Count(page, `id="`+fragment+`"`) == 1, "%s leads to %d places", target[1], strings.Count(page, `id="`+fragment+`"`))
		expect.That(t, within || st.get(target[1]).status == 200, "%s is not there", target[1])
	}
}

// The reference is in English, because the document of the API is. What the page has around it is in the visitor's
// language, and says what is in which.
func TestTheReferencePageHasItsFrameInTheVisitorsLanguage(t *testing.T) {
	st := newSite(t, nil)
	english, german := st.get("/_/docs"), st.get("/_/docs", "Accept-Language: de")
	expect.Equal(t, strings.Count(english.body, " lang="), 1, "in English, one language of the whole page")
	expect.That(t, !strings.Contains(english.body, "The reference itself is in English"), "it says so where nobody wonders")
	expect.Contains(t, german.body, `<html lang="de">`, `<main id="top" lang="en">`, `<p lang="de">Die Referenz selbst ist auf Englisch.</p>`,
		`<h4 lang="de">Parameter</h4>`, `<summary lang="de">Fehler</summary>`, `<span class="mark" lang="de">erforderlich</span>`, `<nav aria-label="Inhalt">`)
	expect.Contains(t, strings.Join(german.header.Values("Vary"), ", "), "Accept-Language, Cookie")
	expect.That(t, english.header.Get("ETag") != german.header.Get("ETag"), "one entity tag of both")
	expect.Equal(t, st.get("/_/docs", "Accept-Language: fr", "Cookie: shunt_lang=de").body, german.body, "the language that was chosen")
	st.get("/_/docs", "Accept-Language: de", "If-None-Match: "+english.header.Get("ETag")).expect(t, "the tag of another language", 200)

	page := newSite(t, func(o *Options) { o.Languages = marked }).get("/_/docs", "Cookie: shunt_lang=x-every").body
	doc, err := html.Parse(strings.NewReader(page))
	expect.OK(t, err)
	var frame []string
	textsIn(doc, "", &frame)
	expect.That(t, len(frame) > 100, "the frame has %d texts", len(frame))
	for _, text := range frame {
		expect.That(t, isData(strings.TrimSuffix(text, ofSite)) || strings.Contains(text, "⟦") || slices.Contains([]string{"API", "shunt", "openapi.json", "openapi-3.0.json", "API" + ofSite}, text),
			"%q is not in the catalog, and not said to be English", text)
	}
}

// textsIn adds the texts of a page that are not said to be in English.
func textsIn(n *html.Node, language string, texts *[]string) {
	for _, a := range n.Attr {
		switch {
		case a.Key == "lang":
			language = a.Val
		case a.Key == "aria-label" && language != words.English:
			*texts = append(*texts, a.Val)
		}
	}
	if text := strings.TrimSpace(n.Data); n.Type == html.TextNode && text != "" && language != words.English && n.Parent.Data != "style" {
		*texts = append(*texts, text)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		textsIn(c, language, texts)
	}
}

func TestTheReferencePageIsAtOnePathAndOnlyRead(t *testing.T) {
	st := newSite(t, nil)
	tag := st.get("/_/docs").header.Get("ETag")
	st.get("/_/docs", "If-None-Match: "+tag).expect(t, "with the current tag", 304, bodyOf(""))
	for request, want := range map[string]int{"GET /_/docs/": 404, "GET /_/DOCS": 404, "GET /_/": 303, "POST /_/docs": 405} {
		method, path, _ := strings.Cut(request, " ")
		send(t, st.publicAt, method, requestText(method, path, "")).expect(t, request, want)
	}
}

var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^ '"]+`)

// shellWords splits a command line as a shell does. It knows single and double quotes, and one
// variable.
func shellWords(line, token string) (all []string) {
	for _, word := range shellWord.FindAllString(line, -1) {
		if quote := word[0]; quote == '\'' || quote == '"' {
			word = word[1 : len(word)-1]
		}
		all = append(all, strings.ReplaceAll(word, "$TOKEN", token))
	}
	return all
}

// curl sends the request of a command line of the page. It fails if the line has anything that curl
// does not know.
func (st *site) curl(words []string) reply {
	st.t.Helper()
	method, path, body := "GET", "", ""
	var lines []string
	for i := 1; i < len(words); i++ {
		word := words[i]
		after, isAddress := strings.CutPrefix(word, st.baseURL)
		switch {
		case isAddress:
			path = after
			continue
		case word == "-N": // not buffered
			method = "HEAD" // the answer has no end
			continue
		}
		i++
		switch word {
		case "-X":
			method = words[i]
		case "-H":
			lines = append(lines, words[i])
		case "--data-binary":
			expect.MustEqual(st.t, words[i], "@logo.png")
			method, body = "POST", tinyPNG
		case "--json":
			body, lines = words[i], append(lines, "Content-Type: application/json")
			if method == "GET" {
				method = "POST"
			}
		default:
			st.t.Fatalf("%q: what is %s?", words, word)
		}
	}
	return send(st.t, st.publicAt, method, requestText(method, path, body, lines...))
}

func TestEveryCommandLineOfTheReferencePageWorks(t *testing.T) {
	commands := regexp.MustCompile(`<code class="curl">(.*?)</code>`)
	st := newSite(t, nil)
	found := commands.FindAllStringSubmatch(st.get("/_/docs").body, -1)
	if len(found) != len(st.endpoints()) {
		t.Errorf("there are %d command lines, want one for each of %d endpoints", len(found), len(st.endpoints()))
	}
	for _, command := range found {
		st := newSite(t, nil) // each line is for a new user
		line := st.prepare(stdhtml.UnescapeString(command[1]))
		r := st.curl(shellWords(line, st.token))
		want := 200
		if strings.Contains(line, "/titles") || strings.Contains(line, "-X POST") && strings.Contains(line, "/target-check") {
			want = 403 // it is off, and would ask the internet
		}
		expect.Equal(t, r.status/100, want/100, "%s: got %+v", line, r)
	}
}

// prepare makes the object that a command line names, and returns the line with its id.
func (st *site) prepare(line string) string {
	st.t.Helper()
	if strings.Contains(line, "/hello") {
		st.shorten(`{"url":"https://example.org/","alias":"hello"}`)
	}
	if strings.Contains(line, "/hello/restore") {
		st.call("DELETE", "/links/hello", "").need(st.t, "", 204)
	}
	if strings.Contains(line, "/domains/go.example") {
		st.addDomain(domain.Domain{Host: "go.example"})
	}
	if strings.Contains(line, "/tags/news") {
		st.shorten(`{"url":"https://example.org/","tags":["news"]}`)
	}
	if strings.Contains(line, "/folders") {
		for _, name := range []string{"ann", "ben", "cid", "dan"} {
			st.person(name+"@example.com", account.RoleMember)
		}
		for _, name := range []string{"a", "b", "c"} {
			expect.OK(st.t, expect.Err(st.folders.Add(account.Caller{}, folder.Folder{Name: name, Owner: 1, Members: []folder.Member{{User: 5, May: folder.Read}}})))
		}
	}
	if strings.Contains(line, "/session") || strings.Contains(line, "/users/2") {
		st.person("ann@example.com", account.RoleMember)
	}
	const exampleID = "mfrggzdfmy2tqnrz"
	if !strings.Contains(line, exampleID) {
		return line
	}
	admin, err := st.accounts.UserByName(account.AdminName)
	expect.NoError(st.t, err)
	made, _, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "t"})
	expect.NoError(st.t, err)
	return strings.Replace(line, exampleID, made.ID, 1)
}
