package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// upload sends a file with the form of the page to import, in which boxes are checked.
func (b *plainBrowser) upload(owner, text string, checked ...string) *shown {
	b.st.t.Helper()
	body := ""
	for _, name := range checked {
		body += "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\ntrue\r\n"
	}
	body += "--xyz\r\nContent-Disposition: form-data; name=\"owner\"\r\n\r\n" + owner +
		"\r\n--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"links.ndjson\"\r\nContent-Type: application/octet-stream\r\n\r\n" +
		text + "\r\n--xyz--\r\n"
	return b.post("/_/transfer", "multipart/form-data; boundary=xyz", body)
}

func TestAMemberExportsAndIsToldWhereToPaste(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.open("/_/transfer")
	p.want("You have no links", "An admin can import a file")
	expect.That(t, !strings.Contains(p.body, "owner=all") && !strings.Contains(p.body, "multipart") && strings.Contains(p.body, `href="/_/links/bulk"`),
		"got %s", p.body)
	st.as([]string{b.cookie, ownPage}, "POST", "/shorten", `{"url":"http://a/","alias":"mine"}`).need(t, "", 201)
	p = b.open("/_/transfer")
	p.want("You have 1 link.")
	expect.Contains(t, p.body, `href="/api/v1/export?include=unique" download="links.ndjson" data-export data-total="1"`)
	st.get("/api/v1/export?include=unique", b.cookie, ownPage).expect(t, "the export", 200, `"code":"mine"`)
}

func TestAnImportShowsItsOutcomeByLine(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.person("ben@example.com", account.RoleMember)
	form := b.open("/_/transfer").form("/_/transfer")
	expect.Equal(t, form.values.Get("owner"), "2", "the owner at first: got %v", form)
	text := "\ufeff" + `{"code":"one","url":"http://a/","hits":5}` + "\r\n\n" + `{"code":"two","url":"javascript:alert(1)"}` + "\n" +
		`<script>alert(1)</script>` + "\n" + `{"code":"three","url":"http://b/"}`
	p := b.upload("3", text)
	p.want("The import is done", "Created 2", "There already 0", "Refused 2")
	lines := p.text()[strings.Index(p.text(), "Lines that were refused"):]
	for _, want := range []string{"3 url: ", "4 is not a link as an export writes it"} {
		expect.That(t, strings.Contains(lines, want), "no %q in %s", want, lines)
	}
	st.call("GET", "/links/one?owner=3", "").expect(t, "a link", 200, `"hits":5`)
	b.upload("3", text).want("Created 0", "There already 2", "Refused 2")
}

func TestAFileIsImportedInSlices(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	var text strings.Builder
	for i := range 1700 {
		if fmt.Fprintf(&text, `{"code":"c%d","url":"http://a/"}`+"\n", i); i%1000 == 500 {
			text.WriteString("\n{}\n")
		}
	}
	p := b.upload("2", text.String())
	p.want("Created 1,700", "Refused 2", "503 ", "1505 ")
	expect.Equal(t, st.engine.Metrics().Links, 1700, "links")
	b.open("/_/transfer").want("You have 1,700 links.")
}

func TestALargeFileIsForSignedInAdminsOnly(t *testing.T) {
	st := newSite(t, nil)
	owner := st.browseAs("owner@example.com", account.RoleAdmin)
	ann := st.browseAs("ann@example.com", account.RoleMember)
	large := strings.Repeat(`{"code":"same","url":"http://a/"}`+"\n", 5000) // 165 KB
	stranger := st.visitor()
	for name, b := range map[string]*plainBrowser{"a member": ann, "a stranger": stranger} {
		b.upload("2", large).expect(t, name, 413)
	}
	owner.upload("2", large).want("Created 1 ", "There already 4,999", "Refused 0")
	owner.upload("2", strings.Repeat(" ", 8<<20)).expect(t, "over 8 MiB", 413)
}

func TestABadUploadIsExplained(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for _, c := range []struct{ owner, text, at, want string }{
		{"2", "", "file-error", "Choose a file with links."},
		{"2", " \n\n", "file-error", "Choose a file with links."},
		{"x", "{}", "owner-error", "Must be the number of a user."},
		{"99", "{}", "owner-error", "Is not the number of a user."},
	} {
		p := b.upload(c.owner, c.text)
		expect.That(t, p.status == 422 && p.at(c.at) == c.want, "%+v: got %d %q", c, p.status, p.at(c.at))
	}
	for contentType, body := range map[string]string{
		formType: "owner=2&file=x", "multipart/form-data": "x",
	} {
		b.post("/_/transfer", contentType, body).expect(t, contentType, 400)
	}
	lines := []string{b.cookie, "Sec-Fetch-Site: cross-site", "Content-Type: multipart/form-data; boundary=xyz"}
	send(t, st.publicAt, "POST", requestText("POST", "/_/transfer", "--xyz--\r\n", lines...)).expect(t, "from another site", 403)
	expect.Equal(t, st.engine.Metrics().Links, 0, "links")
}

func TestAnImportKeepsTheOrderOfTheFile(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	p := b.upload("2", `{"code":"newest","url":"http://a/","hits":5}`+"\n"+`{"code":"middle","url":"http://a/"}`+"\n"+`{"code":"oldest","url":"http://a/"}`)
	p.want("Created 3", "Show the links", "You have 3 links.", "Visitors are not imported")
	list := b.open("/_/links").body
	n, m, o := strings.Index(list, `short-newest`), strings.Index(list, `short-middle`), strings.Index(list, `short-oldest`)
	expect.That(t, n >= 0 && n <= m && m <= o, "the list has them at %d, %d and %d", n, m, o)
	p = b.open("/_/link/newest")
	p.want("Visitors of all time not known visitors of imported hits are not known", "5 imported hits have no time, so they are not in the chart")
	b.open("/_/").want("5 imported hits have no time, so they are not in the chart")
	b.open("/_/link/middle").want("Visitors of all time 0", "Visitors of all time: counted exactly.")
}

func TestAnImportAddsDomainsIfItIsTold(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	const text = `{"code":"one","url":"http://a/","domain":"new.test"}`
	b.upload("2", text).want("Created 0", "Refused 1")
	expect.That(t, !strings.Contains(b.open("/_/transfer").body, "Export the domain"), "there is a choice of one domain")
	b.upload("2", text, "create_domains").want("Created 1", "Refused 0")
	form := b.open("/_/transfer").form("/api/v1/export")
	expect.Equal(t, form.values.Get("owner"), "all", "of an admin: got %v", form)
	r := st.get("/api/v1/export?include=unique&owner=all&domain=new.test", b.cookie, ownPage)
	r.expect(t, "the export of the domain", 200, `"code":"one"`)
}

// The page reads what the command reads: the dump of another system, packed.
func TestThePageImportsWhatAnotherSystemGivesOut(t *testing.T) {
	st := newSite(t, nil)
	dump, err := os.ReadFile("source/testdata/files/yourls-mariadb.sql")
	expect.OK(t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	expect.NoError(t, expect.Err(w.Write(dump)))
	expect.NoError(t, w.Close())
	b := st.browseAs("root@example.com", account.RoleAdmin)
	b.upload("1", packed.String()).want("Created 4", "Refused 0", "read as yourls", "status 301", "These codes differ only by case from others: Spring.")
	st.get("/emoji").expect(t, "", 301, header("Location", "https://shop.example/%F0%9F%8C%B8"))
	pages, err := os.ReadFile("source/testdata/files/bitly-pages.json")
	expect.OK(t, err)
	b.upload("1", string(pages)).want("Created 3", "Refused 2", "was at brand.example", "They were at bit.ly, brand.example.", "archived")
	b.upload("1", "Ziel,Code\nhttps://a.example/,x\n").want("no column of targets")
	b.upload("1", "\x1f\x8bnothing").want("gzip")
}
