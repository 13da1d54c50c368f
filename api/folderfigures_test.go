package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine"
	"shunt/engine/expect"
)

// newFigured is newSharing with hits: of x and of-ed, which are in the folder and alone have the tag in, and of y. An
// admin and a viewer are members of nothing.
func newFigured(t *testing.T) *sharing {
	st := newSharing(t)
	st.as1("ann", "PATCH", "/links/x", `{"tags":["in"],"password":"open sesame","note":"for the team"}`).need(t, "x", 200)
	st.as1("ed", "POST", "/shorten", fmt.Sprintf(`{"url":"https://e.example/","alias":"of-ed","folder":%d,"tags":["in"]}`, st.folder)).need(t, "of-ed", 201)
	st.tokens["admin"] = st.token
	st.tokens["viewer"] = st.issue(account.CallerOf(st.person("viewer@example.com", account.RoleViewer)))
	st.hit("x", 2, engine.Visit{Visitor: 1}, engine.Visit{Visitor: 2})
	st.hit("of-ed", 1, engine.Visit{Visitor: 2})
	st.hit("y", 9, engine.Visit{Visitor: 3})
	return st
}

// readers may read the links of the folder.
var readers = []string{"ann", "ed", "red", "admin", "viewer"}

// TestFiguresOfAFolderAreThoseOfATag has a tag on exactly the links of the folder: the answers are the same bytes.
func TestFiguresOfAFolderAreThoseOfATag(t *testing.T) {
	st := newFigured(t)
	of := fmt.Sprintf("/stats?folder=%d", st.folder)
	expect.Contains(t, st.as1("red", "GET", of+"&top=9", "").body, `{"hits":5,"unique":2,`, `"top":[{"code":"x","hits":4,"unique":2},{"code":"of-ed","hits":1,"unique":1}]`)
	for _, query := range []string{
		"", "&top=1", "&from=2026-01-02T03:00:00Z", "&interval=day&top=9", "&interval=hour", "&interval=day&time_zone=Asia/Tokyo&from=2026-01-01", "&domain=127.0.0.1",
		"&from=2026-01-01&include=bots,scans,referrers,countries,devices,browsers,durability,error", "&include=bots&include=error&to=2026-01-02",
	} {
		want := st.call("GET", "/stats?owner=all&tag=in"+query, "")
		want.need(t, "by tag", 200)
		csv := st.call("GET", "/stats?owner=all&tag=in"+query, "", "Accept: text/csv")
		for _, who := range readers {
			expect.Equal(t, st.as1(who, "GET", of+query, "").body, want.body, "%s: %s", who, query)
			expect.Equal(t, st.callAs(st.tokens[who], "GET", of+query, "", "Accept: text/csv").body, csv.body, "%s: %s", who, query)
		}
		for _, who := range []string{"admin", "viewer"} {
			expect.Equal(t, st.as1(who, "GET", of+"&owner=all"+query, "").body, want.body, "%s with owner=all: %s", who, query)
		}
	}
	st.as1("ann", "PATCH", "/links/x", `{"folder":null}`).need(t, "x leaves", 200)
	expect.Contains(t, st.as1("red", "GET", of+"&top=9", "").body, `{"hits":1,"unique":1,`, `"top":[{"code":"of-ed","hits":1,"unique":1}]`)
}

// TestAnExportOfAFolderHasWhatItsListHas compares the lines with the objects of the list, for each reader.
func TestAnExportOfAFolderHasWhatItsListHas(t *testing.T) {
	st := newFigured(t)
	in := fmt.Sprintf("folder=%d", st.folder)
	_, hash, found := strings.Cut(st.call("GET", "/export?include=password_hash&"+in, "").body, `"password_hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	expect.MustThat(t, found && len(hash) > 20, "an admin is told no hash")
	for _, who := range readers {
		for _, include := range []string{"", "&include=unique"} {
			var list struct{ Data []json.RawMessage }
			r := st.as1(who, "GET", "/links?"+in+include, "")
			expect.OK(t, json.Unmarshal([]byte(r.body), &list), "%s", r.body)
			var want strings.Builder
			for _, l := range list.Data {
				want.Write(append(l, '\n'))
			}
			export := st.as1(who, "GET", "/export?"+in+include, "")
			export.expect(t, who, 200)
			expect.Equal(t, export.body, want.String(), who)
			expect.Equal(t, strings.Count(export.body, "\n"), 2, who)
		}
		daily := st.as1(who, "GET", "/export?"+in+"&include=daily", "")
		expect.Contains(t, daily.body, `"code":"x"`, `"code":"of-ed"`, `"daily":`)
		table := st.callAs(st.tokens[who], "GET", "/export?"+in, "", "Accept: text/csv")
		expect.That(t, table.status == 200 && strings.Count(table.body, "\n") == 3 && strings.Contains(table.body, "\nx,"), "%s: got %s", who, table.body)
		for _, text := range []string{"@example.com", hash, "https://y.example/"} {
			expect.That(t, !strings.Contains(table.body+daily.body, text), "%s is told %s: %s %s", who, text, table.body, daily.body)
		}
		hashes := st.as1(who, "GET", "/export?"+in+"&include=password_hash", "")
		if who == "admin" {
			expect.Contains(t, hashes.body, `"password_hash":"`)
			expect.Equal(t, st.as1(who, "GET", "/export?owner=all&"+in, "").body, st.as1(who, "GET", "/export?"+in, "").body)
			continue
		}
		hashes.expect(t, who+" asks for hashes", problemOf("forbidden"))
	}
}

// TestFiguresAndExportsOfAFolderAreRefusedAsItsListIs asks for them as a stranger, and with what does not go together.
func TestFiguresAndExportsOfAFolderAreRefusedAsItsListIs(t *testing.T) {
	st := newFigured(t)
	in := fmt.Sprintf("folder=%d", st.folder)
	for _, call := range []string{"/stats?", "/export?"} {
		foreign := st.as1("sam", "GET", call+in, "")
		foreign.expect(t, call, problemOf("not_found"))
		expect.Equal(t, foreign.whole(), st.as1("sam", "GET", call+"folder=99", "").whole(), "%s: a foreign folder and a missing one differ", call)
		for _, who := range readers {
			st.as1(who, "GET", call+"folder=99", "").expect(t, who+call, problemOf("not_found"))
			for query, want := range map[string]string{
				"folder=": "folder:range", "folder=0": "folder:range", "folder=x": "folder:range", "folder=-1": "folder:range", "folder=4294967296": "folder:range", in + "&" + in: "folder:duplicate",
			} {
				st.as1(who, "GET", call+query, "").expect(t, who+call+query, 422, fieldsOf(want))
			}
		}
		for _, who := range []string{"admin", "viewer"} {
			st.as1(who, "GET", call+in+"&owner=2", "").expect(t, who+" names an owner", 422, fieldsOf("owner:conflict"))
		}
		st.as1("red", "GET", call+in+"&owner=all", "").expect(t, "a member names all owners", problemOf("forbidden"))
	}
	for query, want := range map[string]string{"&tag=in": "tag:conflict", "&codes=x,of-ed": "codes:invalid"} {
		st.as1("red", "GET", "/stats?"+in+query, "").expect(t, query, 422, fieldsOf(want))
	}
	st.as1("red", "GET", "/stats/x?"+in, "").expect(t, "of one link", 422, fieldsOf("folder:unknown"))
	for scope, path := range map[account.Scope]string{account.StatsRead: "/export?", account.LinksRead: "/stats?"} {
		st.callAs(st.issue(account.CallerOf(st.users["red"]), scope), "GET", path+in, "").expect(t, path+" of a token for "+string(scope), problemOf("forbidden"))
	}
	st.as1("ann", "PATCH", "/folders/1", `{"members":[]}`).need(t, "nobody", 200)
	for _, call := range []string{"/stats?", "/export?"} {
		st.as1("red", "GET", call+in, "").expect(t, call+" of a former member", problemOf("not_found"))
	}
}

// TestFiguresAndExportsOfAFolderAreOfTheDomainsOfTheCaller has a link of another domain in the folder.
func TestFiguresAndExportsOfAFolderAreOfTheDomainsOfTheCaller(t *testing.T) {
	st := newFigured(t)
	st.addDomain(domain.Domain{Host: "b.test"})
	st.as1("ann", "POST", "/shorten", `{"url":"https://w.example/","alias":"w","folder":1,"domain":"b.test"}`).need(t, "w", 201)
	dial := doors[0].open(t, st.site)
	for range 3 {
		askAs(t, dial, "b.test", "/w").need(t, "a hit", 302)
	}
	made := st.as1("red", "POST", "/tokens", `{"name":"limited","scopes":["links:read","stats:read"],"domains":["b.test"]}`)
	made.need(t, "a token of one domain", 201)
	var issued struct{ Token string }
	expect.OK(t, json.Unmarshal([]byte(made.body), &issued))
	st.tokens["limited"] = st.secret(issued.Token)
	codes := func(who, query string) string {
		var found []string
		for line := range strings.Lines(st.as1(who, "GET", "/export?folder=1"+query, "").body) {
			var l struct{ Code string }
			expect.OK(t, json.Unmarshal([]byte(line), &l), "%s", line)
			found = append(found, l.Code)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	want := func(who, query, links, hits string) {
		t.Helper()
		expect.Equal(t, codes(who, query), links, "%s %s", who, query)
		expect.Contains(t, st.as1(who, "GET", "/stats?folder=1"+query, "").body, `{"hits":`+hits+`,`)
	}
	want("red", "", "of-ed w x", "8")
	want("red", "&domain=b.test", "w", "3")
	want("admin", "&domain=127.0.0.1", "of-ed x", "5")
	want("limited", "", "w", "3")
	want("limited", "&domain=b.test", "w", "3")
	expect.Contains(t, st.as1("limited", "GET", "/stats?folder=1&top=9", "").body, `"top":[{"domain":"b.test","code":"w","hits":3,"unique":1}]`)
	for _, call := range []string{"/stats?", "/export?"} {
		st.as1("limited", "GET", call+"folder=1&domain=127.0.0.1", "").expect(t, call, problemOf("forbidden"))
	}
	st.limitTo(st.users["ed"].ID, "b.test")
	want("ed", "", "w", "3")
}

// TestAnExportOfAFolderEndsWithTheRight takes the right away while the export goes on.
func TestAnExportOfAFolderEndsWithTheRight(t *testing.T) {
	for name, c := range map[string]struct {
		who, code string
		end       func(st *sharing)
	}{
		"a member is taken out": {"red", "not_found", func(st *sharing) { st.as1("ann", "DELETE", "/folders/1/members/3", "").need(t, "", 204) }},
		"a member leaves":       {"ed", "not_found", func(st *sharing) { st.as1("ed", "DELETE", "/folders/1/members/4", "").need(t, "", 204) }},
		"an admin is one no more": {"boss", "not_found", func(st *sharing) {
			st.call("PATCH", fmt.Sprintf("/users/%d", st.users["boss"].ID), `{"role":"member"}`).need(t, "", 200)
		}},
	} {
		st := newSharing(t)
		st.users["boss"] = st.person("boss@example.com", account.RoleAdmin)
		st.tokens["boss"] = st.issue(account.CallerOf(st.users["boss"]), account.AllScopes...)
		items := make([]engine.BulkItem, 600)
		for i := range items {
			items[i].Draft = engine.Draft{Owner: 2, Target: "https://a.example/" + strings.Repeat("x", 7000), RedirectStatus: 302, Folder: st.folder}
		}
		expect.OK(t, expect.Err(st.engine.CreateBulk(t.Context(), items)))
		_, body := st.export(st.tokens[c.who], "?folder=1")
		c.end(st)
		text, err := io.ReadAll(body)
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		last := string(lines[len(lines)-1])
		expect.That(t, err != nil && len(lines) < len(items), "%s: got %d lines, %v", name, len(lines), err)
		expect.Contains(t, last, `"type":"urn:shunt:problem:`+c.code+`"`)
	}
}
