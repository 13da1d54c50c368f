package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/problem"
	"shunt/api/source"
	"shunt/engine/expect"
)

// exported makes more links than one page of an export has, and returns how many.
func (st *site) exported(token string) int {
	st.t.Helper()
	const links = 400
	line := `{"url":"https://a.example/` + strings.Repeat("x", 7000) + `"}` + "\n"
	text := requestText("POST", "/api/v1/shorten/bulk", strings.Repeat(line, links),
		"Authorization: Bearer "+token, "Content-Type: application/x-ndjson", "Idempotency-Key: exported")
	known(st.t, func() reply { return send(st.t, st.publicAt, "POST", text) }).need(st.t, "", 200)
	return links
}

// export starts an export and returns its connection and body, unread.
func (st *site) export(token, query string) (net.Conn, io.Reader) {
	st.t.Helper()
	c, err := st.publicAt.Dial()
	expect.OK(st.t, err)
	st.t.Cleanup(func() { _ = c.Close() })
	expect.OK(st.t, expect.Err(io.WriteString(c, requestText("GET", "/api/v1/export"+query, "", "Authorization: Bearer "+token))))
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "GET"})
	expect.MustThat(st.t, err == nil && res.StatusCode == 200 && res.Header.Get("Content-Type") == "application/x-ndjson", "got %+v, %v", res, err)
	return c, res.Body
}

// How many exports are open at a time, in all and of a caller.
const maxExports, maxExportsCaller = 16, 2

// awaitExports waits until n exports are open.
func (st *site) awaitExports(n int) {
	st.t.Helper()
	open := st.calls.ExportsHeld
	for start := time.Now(); open() != n; time.Sleep(time.Millisecond) {
		expect.MustThat(st.t, time.Since(start) <= patienceOfTests, "%d exports are open after %v, want %d", open(), patienceOfTests, n)
	}
}

// readLines reads to the end and returns the lines that are links, the code of the line that is a
// problem, and how the body ended.
func readLines(t *testing.T, body io.Reader) (links []linkObject, broken string, err error) {
	t.Helper()
	text, err := io.ReadAll(body)
	for line := range bytes.Lines(text) {
		var p problem.Body
		var o linkObject
		if json.Unmarshal(line, &p) == nil && strings.HasPrefix(p.Type, "urn:shunt:problem:") {
			broken = p.Code
			continue
		}
		err := json.Unmarshal(line, &o)
		expect.MustThat(t, err == nil && o.ShortURL != "" && broken == "", "line %.100q: %v", line, err)
		links = append(links, o)
	}
	return links, broken, err
}

func TestAnExportHasEachLinkOfItsFirstMomentOnce(t *testing.T) {
	st := newSite(t, nil)
	n := st.exported(st.token)
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"https://a.example/"}`)
	_, body := st.export(st.token, "")
	first := make([]byte, 100)
	expect.OK(t, expect.Err(io.ReadFull(body, first)))
	st.shorten(`{"url":"https://a.example/","alias":"late"}`)
	links, problem, err := readLines(t, io.MultiReader(bytes.NewReader(first), body))
	seen := map[string]bool{}
	for _, o := range links {
		seen[o.Code] = true
	}
	expect.That(t, len(links) == n && len(seen) == n && !seen["late"] && problem == "" && err == nil,
		"got %d links, %d of them different, late: %v, %q, %v", len(links), len(seen), seen["late"], problem, err)
	st.awaitExports(0)
	_, body = st.export(st.token, "?owner=all&include=unique")
	links, _, err = readLines(t, body)
	expect.That(t, len(links) == n+2 && err == nil && links[0].Unique != nil, "of all owners: got %d links, %v", len(links), err)
	_, body = st.export(st.member("bob@example.com"), "")
	links, _, err = readLines(t, body)
	expect.That(t, len(links) == 0 && err == nil, "of a user without links: got %d, %v", len(links), err)
}

func TestABrokenExportEndsWithAProblemWithoutLastChunk(t *testing.T) {
	for name, c := range map[string]struct {
		problem string
		stop    func(st *site, token string)
	}{
		"revoked": {"unauthorized", func(st *site, token string) {
			caller, err := st.accounts.Authenticate(token)
			expect.NoError(st.t, err)
			expect.NoError(st.t, st.accounts.RevokeToken(account.Caller{}, caller.User.ID, caller.TokenID))
		}},
		"shut down": {"overloaded", func(st *site, _ string) {
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				expect.NoError(st.t, st.Shutdown(context.Background()))
			}()
			st.t.Cleanup(func() { <-stopped })
			<-st.ending
		}},
	} {
		st := newSite(t, nil)
		token := st.member("ann@example.com")
		n := st.exported(token)
		_, body := st.export(token, "")
		c.stop(st, token)
		links, problem, err := readLines(t, body)
		expect.That(t, len(links) != 0 && len(links) < n && problem == c.problem && errors.Is(err, io.ErrUnexpectedEOF),
			"%s: got %d links, problem %q, %v", name, len(links), problem, err)
		st.awaitExports(0)
	}
}

func TestAnExportEndsWhenItsClientGoesAway(t *testing.T) {
	st := newSite(t, nil)
	st.exported(st.token)
	for range 3 * maxExportsCaller {
		c, _ := st.export(st.token, "")
		st.awaitExports(1)
		expect.NoError(t, c.Close())
		st.awaitExports(0)
	}
}

func TestExportsAreBounded(t *testing.T) {
	st := newSite(t, nil)
	tokens := []string{st.token}
	for i := range maxExports/maxExportsCaller - 1 {
		tokens = append(tokens, st.tokenOfNew("user"+strconv.Itoa(i)+"@example.com", account.RoleAdmin, account.AllScopes...))
	}
	late := st.member("late@example.com")
	st.exported(st.token)
	for _, token := range tokens {
		for range maxExportsCaller {
			st.export(token, "?owner=all")
		}
		if token != st.token {
			continue
		}
		st.call("GET", "/export", "").expect(t, "one more than a caller may have", 503, problemOf("overloaded"))
	}
	st.callAs(late, "GET", "/export", "").expect(t, "one more than there may be", 503, problemOf("overloaded"))
}

func TestAnExportNeedsChunks(t *testing.T) {
	st := newSite(t, nil)
	old := strings.Replace(requestText("GET", "/api/v1/export", "", "Authorization: Bearer "+st.token), "HTTP/1.1", "HTTP/1.0", 1)
	send(t, st.publicAt, "GET", old).expect(t, "HTTP/1.0", 400)
	st.call("GET", "/export?sort=hits", "").expect(t, "an order", fieldsOf("sort:unknown"))
	st.call("GET", "/export?state=deleted", "").expect(t, "the trash", fieldsOf("state:range"))
	st.call("GET", "/export?state=what&created_from=soon", "").expect(t, "no filters", fieldsOf("state:range created_from:format"))
	st.awaitExports(0)
	st.call("HEAD", "/export", "").expect(t, "HEAD", 200, bodyOf(""), header("Content-Type", "application/x-ndjson"))
	st.awaitExports(0)
}

// An export has the links of a list with the same filters, each once and newest first, in all of its pages.
func TestAnExportHasTheFiltersOfAList(t *testing.T) {
	st := newSite(t, nil)
	for of, token := range []string{st.token, st.member("ann@example.com")} {
		items := make([]string, 1000)
		for round := range 3 {
			for i := range items {
				n := 3*(round*len(items)+i) + of
				items[i] = fmt.Sprintf(`{"url":"https://h%d.example/p","alias":"l%d","title":"T%d","tags":["t%d"],"disabled":%t}`, n, n, n%7, n%3, n%2 == 0)
			}
			text := requestText("POST", "/api/v1/shorten/bulk", strings.Join(items, "\n"), "Authorization: Bearer "+token, "Content-Type: application/x-ndjson", fmt.Sprint("Idempotency-Key: ", round))
			known(t, func() reply { return send(t, st.publicAt, "POST", text) }).need(t, "", 200, `"failed":0`)
		}
	}
	st.call("PATCH", "/links/l9", `{"title":"Größe"}`).need(t, "", 200)
	for _, query := range []string{
		"tag=T0", "state=disabled", "q=t3", "q=l9", "q=grosse", "q=nothing", "tag=t1&q=h11", "never_hit=true", "created_from=2026-01-02", "created_to=2026-01-01",
		"owner=all&state=disabled", "owner=all&q=t3", "owner=all&tag=t1&state=active&q=l1", "owner=all&tag=t0", "owner=all&never_hit=true",
	} {
		var want []string
		for cursor, more := "", true; more; {
			page, r := st.list(st.token, "limit=1000&"+query+cursor)
			r.need(t, query, 200)
			for _, o := range page.Data {
				want = append(want, o.Code)
			}
			if more = page.NextCursor != nil; more {
				cursor = "&cursor=" + *page.NextCursor
			}
		}
		_, body := st.export(st.token, "?"+query)
		links, broken, err := readLines(t, body)
		var got []string
		for _, o := range links {
			got = append(got, o.Code)
		}
		expect.That(t, broken == "" && err == nil, "%s: %q, %v", query, broken, err)
		expect.Slices(t, got, want, query)
	}
	st.awaitExports(0)
}

// tableLinks has the links of a table, the last one first.
func tableLinks(t *testing.T, table string) (links []string) {
	t.Helper()
	s, err := source.Open(strings.NewReader(table), int64(len(table)), source.Options{})
	expect.OK(t, err)
	for {
		record, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		expect.MustThat(t, err == nil && record.Refused == "", "got %v, %v", record, err)
		links = append(links, string(record.Link))
	}
	slices.Reverse(links)
	return links
}

// Links with every field, and with texts that a spreadsheet would take for formulas, come back equal from a table.
func TestATableOfLinksComesBackEqual(t *testing.T) {
	from, to := newSite(t, nil), newSite(t, nil)
	from.allKinds(to)
	from.shorten(`{"url":"https://b.example/","alias":"locked","password":"open sesame"}`)
	r := from.call("GET", "/export?include=password_hash", "", "Accept: text/csv")
	r.need(t, "", 200, header("Content-Type", "text/csv; charset=utf-8; header=present"), "'=1+1", "''quoted")
	links := tableLinks(t, r.body)
	got, answer := to.importText(links...)
	expect.MustThat(t, answer.Failed == 0 && answer.Created == len(links) && len(links) == 24, "%s: %v", got, answer.Results)
	expect.Slices(t, to.exportedLines(), from.exportedLines())
	from.call("GET", "/export", "", "Accept: application/json, text/csv").expect(t, "no preference", 200, header("Content-Type", "application/x-ndjson"))
}

// allKinds makes links with every field but a password, and with texts that a spreadsheet would take for formulas. They
// are in a domain that other has, too.
func (st *site) allKinds(other *site) {
	for _, one := range []*site{st, other} {
		one.addDomain(domain.Domain{Host: "b.test"})
	}
	st.shorten(`{"url":"https://a.example/","alias":"plain"}`)
	st.shorten(linkOfRules)
	st.shorten(linkOfSplit)
	st.shorten(`{"url":"https://a.example/full","alias":"full","redirect_status":308,"expires_at":"2037-01-01T00:00:00.123Z","expired_url":"https://a.example/over","starts_at":"2026-01-01T00:00:00Z",` +
		`"max_hits":5,"title":"Größe, \"1\"; x","note":"one\ntwo","tags":["b","a b"],"forward_query":true,"forward_path":true,"disabled":true,"card":{"title":"=1+1","description":"two","image":"https://a.example/x.png"}}`)
	st.shorten(`{"url":"https://b.example/","alias":"plain","domain":"b.test"}`)
	st.shorten(`{"url":"https://a.example/","alias":"moved","redirect_status":301,"disabled":true,"tags":["a, b","c;d"]}`)
	for i, title := range []string{"=1+1", "+49", "-1", "@a", "'quoted", "''twice", "'=both", "'", "[\"a\"]", "true", "null", "{}", "7", "a|b", "'-1", "'+1", "'@x"} {
		text, err := json.Marshal(title)
		expect.OK(st.t, err)
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"title%d","title":%s,"note":%s,"tags":["=tag%d","x"]}`, i, text, text, i))
	}
	st.get("/plain")
	st.passTime(3600_000)
	other.passTime(7200_000)
}

// No text of a link begins with a tab or a CR, which are formulas, too: they are refused, or taken off.
func TestNoTextOfALinkBeginsWithATab(t *testing.T) {
	st := newSite(t, nil)
	for i, field := range []string{`"title":"%s=1"`, `"note":"%s=1"`, `"tags":["%s=1"]`, `"card":{"title":"%s=1"}`, `"rules":[{"url":"https://a.example/","conditions":[{"type":"query-param","match_key":"%s=1","match_value":"%[1]s=1"}]}]`} {
		for _, begin := range []string{`\t`, `\r`} {
			st.call("POST", "/shorten", fmt.Sprintf(`{"url":"https://a.example/","alias":"l%d",`+field+`}`, i, begin))
		}
	}
	r := st.call("GET", "/export", "", "Accept: text/csv")
	r.need(t, "", 200)
	expect.That(t, !strings.ContainsAny(r.body, "\t\r"), "got %q", r.body)
}

// The file of the button on a list comes back equal by the page to import.
func TestTheFileOfAListComesBackEqual(t *testing.T) {
	from, to := newSite(t, nil), newSite(t, nil)
	from.allKinds(to)
	admin := from.browseAs("root@example.com", account.RoleAdmin)
	file := admin.get("/_/links/export?owner=1&sort=oldest")
	file.need(t, "", 200, header("Content-Type", "text/csv; charset=utf-8"))
	to.browseAs("root@example.com", account.RoleAdmin).upload("1", file.body).want("Created 23", "Refused 0")
	expect.Slices(t, to.exportedLines(), from.exportedLines())

	tagged := admin.get("/_/links/export?owner=1&tag=x&q=title1")
	expect.Equal(t, len(tableLinks(t, tagged.body)), 8, "title1, and title10 to title16")
}
