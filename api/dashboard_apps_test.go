package api

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

const appsPath = "/_/tokens/apps"

// setUp presses the button of an app, and returns the page that shows how it is set up.
func (b *plainBrowser) setUp(app string) *shown {
	b.st.t.Helper()
	return b.follow(b.open(appsPath).form(appsPath).with("app", app))
}

// wantAnAddress follows the short address that an answer has alone.
func (st *site) wantAnAddress(r reply, target string) {
	st.t.Helper()
	code, ok := strings.CutPrefix(r.body, st.baseURL+"/")
	expect.MustThat(st.t, r.status == 201 && ok && strings.HasPrefix(r.header.Get("Content-Type"), "text/plain"), "got %+v", r)
	expect.Equal(st.t, st.get("/"+code).header.Get("Location"), target, "the link of the app")
}

// TestTheFileOfShareXMakesLinks does what ShareX does with its file: it puts the address in place of {input}, and takes
// the answer for {response}.
func TestTheFileOfShareXMakesLinks(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.setUp("sharex")
	text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.link("Save 127.0.0.1-8080.sxcu"), "data:application/json;base64,"))
	expect.OK(t, err)
	var file struct {
		DestinationType, RequestMethod, RequestURL, Body, URL string
		Headers, Arguments                                    map[string]string
	}
	expect.OK(t, json.Unmarshal(text, &file))
	expect.That(t, file.DestinationType == "URLShortener" && file.Body == "FormURLEncoded" && file.URL == "{response}", "got %+v", file)
	lines := []string{"Content-Type: application/x-www-form-urlencoded"}
	for name, value := range file.Headers {
		lines = append(lines, name+": "+value)
	}
	st.secret(strings.TrimPrefix(file.Headers["Authorization"], "Bearer "))
	form := url.Values{}
	for name, value := range file.Arguments {
		form.Set(name, strings.ReplaceAll(value, "{input}", "https://example.com/?a=1&b=ü"))
	}
	path := strings.TrimPrefix(file.RequestURL, st.baseURL)
	st.wantAnAddress(send(t, st.publicAt, file.RequestMethod, requestText(file.RequestMethod, path, form.Encode(), lines...)), "https://example.com/?a=1&b=%C3%BC")
	expect.That(t, b.open(appsPath).element("made") == nil, "the token is shown a second time")
}

// TestTheSettingsOfAppsMakeLinks sends what the settings of the other apps say.
func TestTheSettingsOfAppsMakeLinks(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	settings := func(app string) map[string]string {
		found := make(map[string]string)
		p := b.setUp(app)
		for _, value := range p.all("code", "setting") {
			found[textOf(value.Parent.PrevSibling)] = textOf(value)
		}
		return found
	}
	s := settings("shortcuts")
	st.secret(strings.TrimPrefix(s["Header Authorization"], "Bearer "))
	expect.That(t, s["URL"] == st.baseURL+"/api/v1/shorten" && s["Request Body"] == "Form", "got %v", s)
	st.wantAnAddress(send(t, st.publicAt, s["Method"], requestText(s["Method"], "/api/v1/shorten", "url=http://a/",
		"Content-Type: application/x-www-form-urlencoded", "Authorization: "+s["Header Authorization"], "Accept: "+s["Header Accept"])), "http://a/")

	s = settings("n8n")
	st.secret(strings.TrimPrefix(s["Value of the header"], "Bearer "))
	r := send(t, st.publicAt, s["Method"], requestText(s["Method"], strings.TrimPrefix(s["URL"], st.baseURL), `{"url":"http://b/"}`,
		"Content-Type: application/json", s["Name of the header"]+": "+s["Value of the header"], "Accept: application/json, text/plain, */*"))
	expect.That(t, r.status == 201 && strings.Contains(r.body, `"short_url":"`+st.baseURL), "n8n: got %+v", r)

	words := shellWords(b.setUp("curl").at("setup"), "")
	expect.MustEqual(t, len(words), 8, "curl: got %q", words)
	st.secret(strings.TrimPrefix(words[3], "Authorization: Bearer "))
	name, value, _ := strings.Cut(words[7], "=")
	st.wantAnAddress(send(t, st.publicAt, "POST", requestText("POST", strings.TrimPrefix(words[1], st.baseURL), name+"="+url.QueryEscape(value),
		"Content-Type: application/x-www-form-urlencoded", words[3], words[5])), "https://example.com/")
}

func TestTheTokenOfAnAppOnlyChangesLinks(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	expect.Equal(t, b.post(appsPath, formType, b.open(appsPath).form(appsPath).with("app", "x").values.Encode()).status, 404, "an unknown app")
	words := shellWords(b.setUp("curl").at("setup"), "")
	token := st.secret(strings.TrimPrefix(words[3], "Authorization: Bearer "))
	for call, want := range map[string]int{"GET /links": 403, "GET /stats": 403, "GET /tokens": 403, "GET /me": 200} {
		method, path, _ := strings.Cut(call, " ")
		expect.Equal(t, st.callAs(token, method, path, "").status, want, "%s", call)
	}
	p := b.open("/_/tokens")
	p.want("curl", "Change links")
	st.wantNothingSecretLogged()
}

// TestTheBookmarkHasNoToken: it runs in pages of others.
func TestTheBookmarkHasNoToken(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.setUp("curl")
	mark, err := url.PathUnescape(attribute(p.element("bookmarklet"), "href")) // as browsers do with javascript:
	expect.OK(t, err)
	st.secret(strings.TrimPrefix(shellWords(p.at("setup"), "")[3], "Authorization: Bearer "))
	st.wantNothingSecretIn("the bookmark", mark)
	at, isScript := strings.CutPrefix(mark, `javascript:void(open("`)
	form, _, _ := strings.Cut(at, `"`)
	expect.MustThat(t, isScript && form == st.baseURL+"/_/new", "got %s", mark)
	query := "?url=" + url.QueryEscape("https://example.com/?q=1&r=2") + "&title=A+%22page%22"
	form = strings.TrimPrefix(form, st.baseURL)
	to := b.get(form + query)
	expect.That(t, to.status == 303 && to.header.Get("Location") == "/_/links/new"+query, "got %d %s", to.status, to.header.Get("Location"))
	expect.Equal(t, b.get(form).header.Get("Location"), "/_/links/new", "without a query")
	f := b.open(to.header.Get("Location")).form("/_/links/new")
	expect.That(t, f.values.Get("url") == "https://example.com/?q=1&r=2" && f.values.Get("title") == `A "page"`, "got %v", f.values)
}
