package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// importText sends items to POST /import, and returns "created existing failed: statuses".
func (st *site) importText(items ...string) (string, bulkAnswer) {
	st.t.Helper()
	r := st.call("POST", "/import", "["+strings.Join(items, ",")+"]")
	var answer bulkAnswer
	if r.status != 200 {
		return fmt.Sprint(r.status, " ", r.problem(), " ", r.fields()), answer
	}
	expect.OK(st.t, json.Unmarshal([]byte(r.body), &answer))
	text := fmt.Sprintf("%d %d %d:", answer.Created, answer.Existing, answer.Failed)
	for _, item := range answer.Results {
		text += fmt.Sprint(" ", item.Status)
	}
	return text, answer
}

// exportedLines returns the links that GET /export writes, the newest first, without the fields
// that belong to one server.
func (st *site) exportedLines() (lines []string) {
	st.t.Helper()
	for line := range strings.Lines(st.call("GET", "/export", "").body) {
		var link map[string]any
		expect.OK(st.t, json.Unmarshal([]byte(line), &link), "%q", line)
		delete(link, "short_url")
		text, err := json.Marshal(link)
		expect.OK(st.t, err)
		lines = append(lines, string(text))
	}
	return lines
}

func TestAnImportedExportKeepsItsCodesTimesAndHits(t *testing.T) {
	from, to := newSite(t, nil), newSite(t, func(o *Options) { o.BaseURL = "http://127.0.0.1:9090" })
	from.shorten(`{"url":"https://a.example/?x=1&y=<2>","alias":"plain"}`)
	from.shorten(`{"url":"https://b.example/","alias":"full","redirect_status":308,"expires_at":"2037-01-01T00:00:00.123Z","max_hits":5,` +
		`"title":"Größe \"1\"","tags":["b","a"],"forward_query":true}`)
	for range 3 {
		from.get("/plain")
		from.get("/full")
	}
	from.passTime(3600_000)
	to.passTime(7200_000)
	from.call("PATCH", "/links/plain", `{"title":"edited"}`).need(t, "", 200)
	lines := strings.Split(strings.TrimSpace(from.call("GET", "/export?include=unique", "").body), "\n")
	slices.Reverse(lines) // an export is the newest first
	for _, want := range []string{"2 0 0: 201 201", "0 2 0: 200 200"} {
		got, _ := to.importText(lines...)
		expect.Equal(t, got, want)
	}
	expect.Slices(t, to.exportedLines(), from.exportedLines())
	for _, want := range []int{308, 308, 410} { // 3 of 5 hits were imported
		to.get("/full").expect(t, "full redirects with", want)
	}
	got, want := to.call("GET", "/stats/full", "").body, `{"hits":5,"unique":1}`
	expect.Equal(t, strings.TrimSpace(got), want, "got %s", got)
}

func (st *site) passTime(ms int64) { st.now.Add(ms) }

func TestImportedHitsAreInTheTotalButInNoWindow(t *testing.T) {
	st := newSite(t, nil)
	got, _ := st.importText(`{"code":"old","url":"https://a.example/","hits":100,"created_at":"2019-05-04T03:02:01Z"}`)
	expect.MustThat(t, got == "1 0 0: 201", "%v", got)
	st.get("/old")
	for target, want := range map[string]string{
		"/stats/old":                   `{"hits":101,"unique":1}`,
		"/stats/old?include=countries": `{"hits":101,"unique":1,"countries":[{"value":"other","hits":101}]}`,
	} {
		expect.Equal(t, strings.TrimSpace(st.call("GET", target, "").body), want, target)
	}
	var window struct{ Hits, Unique uint64 }
	err := json.Unmarshal([]byte(st.call("GET", "/stats/old?interval=day", "").body), &window)
	expect.That(t, err == nil && window.Hits == 1, "got %+v, %v, want the hit of today", window, err)
}

func TestOnlyImportsMayDifferFromTakenCodesByCase(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"Spring"}`)
	got, _ := st.importText(
		`{"code":"spring","url":"https://b.example/"}`, `{"code":"SPRING","url":"https://c.example/"}`,
		`{"code":"Spring","url":"https://d.example/"}`, `{"code":"SPRING","url":"https://e.example/"}`, `{"code":"SPRING","url":"https://c.example/"}`)
	expect.MustEqual(t, got, "2 1 2: 201 201 409 409 200")
	for code, want := range map[string]string{"Spring": "https://a.example/", "spring": "https://b.example/", "SPRING": "https://c.example/"} {
		expect.Equal(t, st.get("/"+code).header.Get("Location"), want, "%s leads to", code)
	}
	for _, alias := range []string{"sPRING", "spring"} {
		st.call("POST", "/shorten", `{"url":"https://f.example/","alias":"`+alias+`"}`).expect(t, alias, problemOf("alias_taken"))
	}
	st.call("DELETE", "/links/spring", "").expect(t, "", 204)
	if got, want := st.get("/spring").status, 404; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	expect.Equal(t, st.get("/Spring").header.Get("Location"), "https://a.example/", "the variant of the deleted link leads to")
}

func TestALinkThatIsOverOrUsedUpIsImported(t *testing.T) {
	st := newSite(t, nil)
	got, _ := st.importText(
		`{"code":"over","url":"https://a.example/","expires_at":"2020-01-01T00:00:00Z","created_at":"2019-01-01T00:00:00Z"}`,
		`{"code":"used","url":"https://a.example/","max_hits":3,"hits":4}`)
	expect.MustEqual(t, got, "2 0 0: 201 201")
	for _, code := range []string{"over", "used"} {
		st.get("/"+code).expect(t, code, 410)
	}
}

func TestABadImportIsExplainedAndChangesNothing(t *testing.T) {
	st := newSite(t, nil)
	for fields, want := range map[string]string{
		`"url":"https://a.example/"`:                                                  "code:required",
		`"code":null,"url":"https://a.example/"`:                                      "code:required",
		`"code":"","url":"https://a.example/"`:                                        "code:required",
		`"code":"c"`:                                                                  "url:required",
		`"code":"api","url":"https://a.example/"`:                                     "code:reserved",
		`"code":"a b","url":"https://a.example/"`:                                     "code:characters",
		`"code":7,"url":"https://a.example/"`:                                         "code:type",
		`"code":"c","url":"ftp://a.example/"`:                                         "url:scheme",
		`"code":"c","url":"https://a.example/","alias":"d"`:                           "alias:unknown",
		`"code":"c","url":"https://a.example/","hits":-1`:                             "hits:range",
		`"code":"c","url":"https://a.example/","hits":9007199254740993`:               "hits:range",
		`"code":"c","url":"https://a.example/","hits":1.5`:                            "hits:type",
		`"code":"c","url":"https://a.example/","created_at":"2100-01-01T00:00:00Z"`:   "created_at:in_future",
		`"code":"c","url":"https://a.example/","created_at":"1969-12-31T23:59:59Z"`:   "created_at:range",
		`"code":"c","url":"https://a.example/","created_at":"yesterday"`:              "created_at:format",
		`"code":"c","url":"https://a.example/","expires_at":"1970-01-01T00:00:00Z"`:   "expires_at:range",
		`"code":"c","url":"https://a.example/","expires_at":"0001-01-01T00:00:00Z"`:   "expires_at:range",
		`"code":"c","url":"https://a.example/","max_hits":0`:                          "max_hits:range",
		`"code":"c","url":"https://a.example/","type":"urn:shunt:problem:overloaded"`: "type:unknown",
	} {
		r := itemOf(st.call("POST", "/import", "[{"+fields+"}]"))
		got := r.fields()
		expect.That(t, r.status == 422 && got == want, "%s: got %d %s, want %s", fields, r.status, got, want)
	}
	item := `[{"code":"c","url":"https://a.example/"}]`
	for query, want := range map[string]string{"?owner=all": "owner:range", "?owner=99": "owner:unknown", "?owner=0": "owner:range", "?user=1": "user:unknown"} {
		st.call("POST", "/import"+query, item).expect(t, query, 422, fieldsOf(want))
	}
	expect.Equal(t, st.engine.Metrics().Links, 0, "links")
}

func TestAnImportMakesLinksForAnotherUser(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", "member")
	st.call("POST", fmt.Sprintf("/import?owner=%d", ann.ID), `[{"code":"hers","url":"https://a.example/"}]`).need(t, "", 200)
	d, err := st.engine.Read(keyOf("hers"))
	expect.That(t, err == nil && d.Owner == ann.ID, "got %+v, %v, want owner %d", d, err, ann.ID)
	got, _ := st.importText(`{"code":"hers","url":"https://a.example/"}`)
	expect.Equal(t, got, "0 0 1: 409", "the same for another user")
}

// A deleted code stays taken for everybody but its former owner and admins, who alone may import.
func TestAnImportTakesACodeThatSomebodyElseHasDeleted(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", "member")
	hers := fmt.Sprintf("/import?owner=%d", ann.ID)
	st.call("POST", hers, `[{"code":"spring","url":"https://a.example/"}]`).need(t, "", 200)
	st.call("DELETE", "/links/spring?owner=all", "").need(t, "", 204)
	for _, want := range []string{"3 0 0: 201 201 201", "0 3 0: 200 200 200"} {
		got, _ := st.importText(`{"code":"SPRING","url":"https://b.example/"}`, `{"code":"spring","url":"https://b.example/"}`, `{"code":"Spring","url":"https://b.example/"}`)
		expect.Equal(t, got, want)
	}
	itemOf(st.call("POST", hers, `[{"code":"spring","url":"https://c.example/"}]`)).expect(t, "for its former owner, afterwards", 409)
}

// A dry run answers as the import would, for each kind of item, and leaves nothing.
func TestADryRunOfAnImportTellsWhatItWouldDo(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"mine"}`)
	st.callAs(st.member("ann@example.com"), "POST", "/shorten", `{"url":"http://a/","alias":"hers"}`).need(t, "", 201)
	items := "[" + strings.Join([]string{
		`{"code":"new","url":"http://n/","hits":7}`, `{"code":"new","url":"http://n/","hits":7}`, `{"code":"NEW","url":"http://n/"}`,
		`{"code":"mine","url":"http://a/"}`, `{"code":"mine","url":"http://b/"}`, `{"code":"hers","url":"http://a/"}`,
		`{"code":"bad","url":"javascript:x"}`, `{"code":"elsewhere","url":"http://a/","domain":"new.example"}`, `{}`,
	}, ",") + "]"
	before, audit := st.call("GET", "/export?owner=all", "").body, st.call("GET", "/audit", "").body
	var answers [2]bulkAnswer
	for i, query := range []string{"&dry_run=true", ""} {
		r := st.call("POST", "/import?create_domains=true"+query, items)
		r.need(t, query, 200)
		expect.OK(t, json.Unmarshal([]byte(r.body), &answers[i]))
		if i == 0 {
			expect.Equal(t, st.call("GET", "/export?owner=all", "").body, before, "links after a dry run")
			expect.Equal(t, st.call("GET", "/audit", "").body, audit, "the audit log after a dry run")
			st.call("GET", "/domains/new.example", "").expect(t, "a domain that a dry run has met", 404)
			st.get("/new").expect(t, "", 404)
		}
	}
	expect.Equal(t, answers[0].Created, 3, "that would be made")
	expect.Equal(t, fmt.Sprint(answers[0].Created, answers[0].Existing, answers[0].Failed), fmt.Sprint(answers[1].Created, answers[1].Existing, answers[1].Failed))
	for i := range answers[0].Results {
		expect.Equal(t, answers[0].Results[i].Status, answers[1].Results[i].Status, "item %d", i)
	}
	st.get("/new").expect(t, "after the import", 302)
	st.call("POST", "/import?dry_run=perhaps", items).expect(t, "another value", 422, problemOf("invalid"))
}
