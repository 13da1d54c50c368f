package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/folder"
	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

const (
	selectedPath = "/_/links/selected"
	changePath   = "/_/links/selected/change"
)

// chosen sends the form of a list, with the ticks of codes, or all that match if there are none.
func (b *plainBrowser) chosen(list *shown, do string, codes ...string) *shown {
	b.st.t.Helper()
	form := list.form(selectedPath).with("do", do)
	if form.values["code"] = codes; len(codes) == 0 {
		form = form.with("all", "true")
	}
	return b.submit(form)
}

// version returns the version of a link of anybody.
func (st *site) version(code string) string {
	st.t.Helper()
	return st.call("GET", "/links/"+code+"?owner=all", "").header.Get("ETag")
}

func TestSelectedLinksAreChanged(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.linksOf(st.issue(account.CallerOf(ann), memberScopes...), 6)
	st.shorten(`{"url":"http://a/","alias":"foreign"}`)
	_, err := st.folders.Add(account.CallerOf(ann), folder.Folder{Name: "f", Owner: ann.ID})
	expect.NoError(t, err)
	b := st.browse("ann@example.com")
	for _, c := range []struct {
		do, field, value, want string
		is                     func(o linkObject) bool
	}{
		{"tag", "tags", `new, T1, "a, b"`, "will have these tags, too.", func(o linkObject) bool { return strings.Contains(fmt.Sprint(o.Tags), "new") && len(o.Tags) >= 3 }},
		{"untag", "tags", "NEW, a", "will lose these tags.", func(o linkObject) bool { return !strings.Contains(fmt.Sprint(o.Tags), "new") }},
		{"expire", "expires_at", "2037-03-04T05:06", "will expire at this time.", func(o linkObject) bool { return o.ExpiresAt != nil }},
		{"expire", "expires_at", "", "will expire at this time.", func(o linkObject) bool { return o.ExpiresAt == nil }},
		{"disable", "", "", "will not redirect any more", func(o linkObject) bool { return o.State == "disabled" }},
		{"folder", "into", "1", "will be in the folder", func(o linkObject) bool { return o.Folder == 1 }},
		{"enable", "", "", "will redirect again", func(o linkObject) bool { return o.State == "active" }},
	} {
		page := b.chosen(b.open("/_/links"), c.do, "l1", "l3", "foreign")
		page.want("3 links "+c.want, "l1, l3, foreign")
		form := page.form(changePath)
		if c.field != "" {
			form = form.with(c.field, c.value)
		}
		done := b.submit(form)
		done.want("2 links were changed. 1 link is gone.")
		for _, code := range []string{"l1", "l3"} {
			o := st.object(code)
			expect.That(t, c.is(o), "%s: got %+v", c.do, o)
		}
		l0 := st.object("l0")
		expect.That(t, !c.is(l0) || c.do == "untag" || st.version("l0") == `"1"`, "%s: another link is changed: %+v", c.do, l0)
		expect.Equal(t, st.version("foreign"), `"1"`, "a foreign link")
		again := b.submit(form)
		expect.That(t, again.status == 303 && again.header.Get("Location") == "/_/links", "%s: the same form again: got %v", c.do, again.reply)
	}
	expect.Equal(t, st.version("l1"), `"8"`, "each change is one version")
	b.open("/_/links").want("This was done already.")
	b.submit(b.chosen(b.open("/_/links"), "enable", "l1").form(changePath)).want("0 links were changed. 1 link was so already.")
	deleted := b.submit(b.chosen(b.open("/_/links"), "delete", "l1", "l3").form(changePath))
	deleted.want("2 links were deleted.")
	b.open(deleted.link("Trash")).want("/l1", "/l3")
	expect.Equal(t, listedOn(b.open("/_/links")), "l5 l4 l2 l0")
}

func TestAllLinksThatMatchAreChanged(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.linksOf(token, 2_300)
	st.shorten(`{"url":"http://a/","alias":"foreign","tags":["t1"]}`)
	b := st.browse("ann@example.com")
	page := b.chosen(b.open("/_/links?tag=t1&sort=oldest"), "disable")
	page.want("1,150 links will not redirect any more", "all links that match now: tag: t1, oldest first.", "l1, l3, l5")
	st.callAs(token, "PATCH", "/links/l0", `{"tags":["t1"]}`).need(t, "", 200) // matches when the form is confirmed
	done := b.submit(page.form(changePath))
	done.want("1,151 links were changed.")
	expect.Equal(t, done.link("Back to the list"), "/_/links?sort=oldest&tag=t1")
	b.open("/_/links?state=disabled").want("1,151 links")
	expect.That(t, st.object("l2").State == "active" && st.object("foreign").State == "active", "a link that does not match is disabled")

	b.submit(b.chosen(b.open("/_/links?q=l229&state=disabled"), "enable").form(changePath)).want("6 links were changed.")
	b.submit(b.chosen(b.open("/_/links?q=l1999"), "enable").form(changePath)).want("1 link was changed.")
}

// A change of more links than one request may change goes on where it ended.
func TestAChangeOfManyLinksGoesOn(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.linksOf(st.issue(account.CallerOf(ann), memberScopes...), ops.MaxSeveral+20)
	b := st.browse("ann@example.com")
	list := b.open("/_/links")
	page := b.chosen(list, "untag")
	page.want("10,020 links will lose these tags.", "One step takes at most 10,000 links")
	sum := ""
	for n := 0; n < 30 && sum == ""; n++ {
		form := page.form(changePath)
		if n == 0 {
			form = form.with("tags", "t0")
		}
		if page = b.submit(form); !strings.Contains(page.text(), "There are more links.") {
			sum = page.text()
		}
	}
	expect.Contains(t, sum, "5,010 links were changed. 5,010 links were so already.")
	b.open("/_/links?tag=t0").want("Nothing was found.")
}

func TestAFormOfSelectedLinksIsChecked(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.linksOf(st.issue(account.CallerOf(ann), memberScopes...), 7)
	b := st.browse("ann@example.com")
	list := b.open("/_/links?q=l")
	for do, c := range map[string][3]string{
		"tag": {"tags", " , ", "Must have at least one tag."}, "untag": {"tags", "", "Must have at least one tag."},
		"expire": {"expires_at", "2001-01-01T00:00", "Must be in the future."},
	} {
		page := b.submit(b.chosen(list, do, "l1").form(changePath).with(c[0], c[1]))
		expect.That(t, page.status == 422 && page.at("selected-value-error") == c[2], "%s: got %d %q", do, page.status, page.text())
		expect.Equal(t, page.form(changePath).values.Get("code"), "l1", "%s: the form again", do)
	}
	page := b.submit(b.chosen(list, "tag", "l1", "l2").form(changePath).with("tags", strings.ReplaceAll(manyTags(engine.MaxTags), "t", "u")))
	page.want("0 links were changed. 2 links were refused.", "l1: Must be at most 32 tags.", "l2: Must be at most 32 tags.")
	expect.Equal(t, st.version("l1"), `"1"`, "a link with too many tags")

	none := b.submit(list.form(selectedPath).with("do", "tag"))
	expect.Equal(t, none.header.Get("Location"), "/_/links?q=l")
	b.open("/_/links?q=l").want("No link was selected.")
	b.submit(list.form(selectedPath).with("do", "what", "all", "true")).expect(t, "an unknown thing to do", 400)
	b.submit(list.form(selectedPath).with("do", "move", "all", "true")).expect(t, "a member moves links", 400)
	b.post(changePath, formType, "do=move&to=1&code=l1").expect(t, "a member moves a link", 400)
	b.post(changePath, formType, "do=export&code=l1").expect(t, "no change", 400)
	b.post(changePath, formType, "do=delete").expect(t, "no links", 400)
	b.post(changePath, formType, "do=delete&all=true&owner=all").expect(t, "the links of all", 403)
	b.post(changePath, formType, "do=disable&all=true&state=deleted").expect(t, "links in the trash", 422)
	expect.Equal(t, strings.Count(listedOn(b.open("/_/links")), " "), 6, "links")

	for _, codes := range [][]string{{"l1"}, {"l1", "l2", "l3", "l4", "l5", "l6"}} {
		expect.Equal(t, b.chosen(list, "compare", codes...).header.Get("Location"), "/_/links?q=l", "compare %d links", len(codes))
	}
	expect.Equal(t, b.chosen(list, "compare", "l2", "l1").header.Get("Location"), "/_/compare?codes=l2%2Cl1")
	for _, code := range []string{"l1", "l2"} {
		st.call("PATCH", "/links/"+code+"?owner=all", `{"title":"two"}`).need(t, code, 200)
	}
	for query, want := range map[string]string{"q=l1": "", "q=l": "", "q=two": "/_/compare?codes=l2%2Cl1", "q=two&sort=oldest": "/_/compare?codes=l1%2Cl2"} {
		page := b.post("/_/links/selected", formType, "do=compare&all=true&"+query)
		if want == "" {
			want = "/_/links?" + query
		}
		expect.Equal(t, page.header.Get("Location"), want, "compare all of %s", query)
	}
}

func TestAdminsMoveSelectedLinks(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.person("boss@example.com", account.RoleAdmin)
	st.linksOf(st.issue(account.CallerOf(ann), memberScopes...), 4)
	boss := st.browse("boss@example.com")
	list := boss.open(fmt.Sprintf("/_/links?owner=%d&tag=t1", ann.ID))
	page := boss.chosen(list, "move")
	wrong := boss.submit(page.form(changePath).with("to", "nobody@example.com"))
	expect.That(t, wrong.status == 422 && wrong.at("selected-value-error") == "Must be the e-mail address or the number of a user.", "got %d %s", wrong.status, wrong.text())
	boss.submit(page.form(changePath).with("to", "boss@example.com")).want("2 links were changed.")
	expect.Equal(t, listedOn(boss.open("/_/links")), "l3 l1")
	expect.Equal(t, listedOn(st.browse("ann@example.com").open("/_/links")), "l2 l0")
}

func TestALargeListIsAWholeFile(t *testing.T) {
	st := newSite(t, nil)
	items := make([]string, 700)
	for i := range items {
		items[i] = fmt.Sprintf(`{"alias":"l%d","url":"https://a.example/%s"}`, i, strings.Repeat("x", 7000))
	}
	known(t, func() reply {
		_, _, r := st.bulk("application/x-ndjson", strings.Join(items, "\n"), "Idempotency-Key: items")
		return r
	})
	expect.Equal(t, st.engine.Metrics().Links, uint64(len(items)), "links")
	b := st.ownFigures()
	for _, path := range []string{"/_/links/export", "/_/links/export?sort=oldest&state=active"} {
		file := b.get(path)
		expect.Equal(t, file.header.Get("Content-Disposition"), `attachment; filename="links.csv"`)
		expect.Equal(t, strings.Count(file.body, "\n")-1, len(items), path)
		expect.Equal(t, file.header.Get("Content-Encoding"), "", path)
	}
	st.awaitExports(0)
	some := b.post("/_/links/selected", formType, "do=export"+strings.Repeat("&code=l1", 250))
	expect.Equal(t, strings.Count(some.body, "\n")-1, 1, "the same link again and again")
}

func TestAListIsAFileForSpreadsheets(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.linksOf(token, 1_203)
	st.callAs(token, "PATCH", "/links/l5", `{"title":"=1+1","note":"two\nlines","tags":["a, b","t1"]}`).need(t, "", 200)
	b := st.browse("ann@example.com")
	page := b.open("/_/links?tag=t1&sort=oldest")
	file := b.get(page.link("This list as CSV"))
	expect.Equal(t, file.header.Get("Content-Disposition"), `attachment; filename="links.csv"`)
	lines := strings.Split(strings.TrimSuffix(file.body, "\n"), "\n")
	expect.Equal(t, lines[0], "\ufeffcode,short_url,domain,url,redirect_status,state,owner,created_at,updated_at,deleted_at,starts_at,expires_at,expired_url,max_hits,title,note,tags,folder,"+
		"forward_query,query,forward_path,rules,split,has_password,password_hash,card,disabled,hits,daily,unique")
	expect.Equal(t, len(lines), 1+601+1, "lines, one of them in a note")
	expect.That(t, strings.HasPrefix(lines[1], "l1,http://127.0.0.1:8080/l1,,https://h1.example/p,302,active,2,") && strings.HasSuffix(lines[1], ",false,0,,0"), "the first: %s", lines[1])
	expect.Contains(t, file.body, ",'=1+1,\"two\nlines\",\"a, b|t1\",,false,")
	some := b.chosen(page, "export", "l9", "l3")
	expect.That(t, strings.Count(some.body, "\n") == 3 && strings.Contains(some.body, "\nl9,") && strings.Contains(some.body, "\nl3,"), "of two links: %s", some.body)
	expect.Equal(t, b.chosen(page, "export").header.Get("Location"), "/_/links/export?"+url.Values{"tag": {"t1"}, "sort": {"oldest"}}.Encode())
	b.get("/_/links/export?state=deleted").expect(t, "the trash", 422)
	b.get("/_/links/export?created_from=soon").expect(t, "a wrong filter", 422)
	b.get("/_/links/export?owner=all").expect(t, "a member asks for all", 403)
}

func TestFiltersAreSavedUnderNames(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "tags", "x & y"))
	save := func(path, name string) *shown {
		return b.submit(b.open(path).form("/_/links/filters").with("name", name))
	}
	answer := save("/_/links?sort=hits&tag=x+%26+y&q=a", "Mine <b>")
	expect.Equal(t, answer.header.Get("Location"), "/_/links?q=a&sort=hits&tag=x+%26+y")
	page := b.open("/_/links")
	expect.Equal(t, page.link("Mine <b>"), "/_/links?q=a&sort=hits&tag=x+%26+y")
	save("/_/links?state=active", "mine <B>")
	save("/_/links?sort=oldest", "Old")
	page = b.open("/_/links?state=active")
	expect.Equal(t, page.link("mine <B>"), "/_/links?state=active", "in place of the one of the same name")
	expect.That(t, strings.Contains(page.body, `title="state: active" aria-current="true"`), "the list is not marked: %s", page.body)
	wrong := save("/_/links?state=active", " ")
	expect.That(t, wrong.status == 422 && wrong.at("name-error") == "Must not be empty.", "got %d %s", wrong.status, wrong.text())
	wrong.want("Not saved yet", "state: active")
	b.follow(wrong.form("/_/links/filters").with("name", "Again")).want("The filter is saved.")
	wrong = b.submit(b.open("/_/links/filters").form("/_/links/filters").with("name", strings.Repeat("y", 65)))
	expect.That(t, wrong.status == 422 && wrong.at("name-error") == "Must be at most 64 bytes.", "got %d %s", wrong.status, wrong.text())
	expect.Contains(t, wrong.body, `value="`+strings.Repeat("y", 65)+`"`, "what was typed")
	b.follow(b.open("/_/links/filters").form("/_/links/filters/delete"))

	page = b.open("/_/links/filters")
	page.want("mine <B>", "state: active", "oldest first")
	b.follow(page.form("/_/links/filters").with("name", "Active")).want("The filter has its new name.", "Active")
	b.follow(b.open("/_/links/filters").form("/_/links/filters/delete")).want("The filter is deleted.")
	expect.That(t, b.open("/_/links").link("Active") == "" && b.open("/_/links").link("Old") != "", "the first is not deleted")
	other := st.browseAs("ben@example.com", account.RoleMember)
	other.open("/_/links/filters").want("There is no saved filter yet.")
}
