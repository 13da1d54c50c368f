package api

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
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
		line := st.prepare(html.UnescapeString(command[1]))
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
			expect.OK(st.t, expect.Err(st.folders.Add(account.Caller{}, folder.Folder{Name: name, Owner: 1})))
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
