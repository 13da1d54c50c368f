package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// importText sends items to POST /import, and returns "created existing failed: statuses".
func (st *site) importText(items ...string) (string, bulkAnswer) {
	st.t.Helper()
	r := st.call("POST", "/import", "["+strings.Join(items, ",")+"]")
	var answer bulkAnswer
	if r.status != 200 {
		return fmt.Sprint(r.status, " ", r.problem(), " ", r.fields()), answer
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		st.t.Fatal(err)
	}
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
		if err := json.Unmarshal([]byte(line), &link); err != nil {
			st.t.Fatalf("%q: %v", line, err)
		}
		delete(link, "short_url")
		text, err := json.Marshal(link)
		if err != nil {
			st.t.Fatal(err)
		}
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
	if r := from.call("PATCH", "/links/plain", `{"title":"edited"}`); r.status != 200 {
		t.Fatalf("got %+v", r)
	}
	lines := strings.Split(strings.TrimSpace(from.call("GET", "/export?include=unique", "").body), "\n")
	slices.Reverse(lines) // an export is the newest first
	for _, want := range []string{"2 0 0: 201 201", "0 2 0: 200 200"} {
		if got, _ := to.importText(lines...); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := to.exportedLines(), from.exportedLines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []int{308, 308, 410} { // 3 of 5 hits were imported
		if r := to.get("/full"); r.status != want {
			t.Errorf("full redirects with %d, want %d", r.status, want)
		}
	}
	if got, want := to.call("GET", "/stats/full", "").body, `{"hits":5,"unique":1}`; strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func (st *site) passTime(ms int64) { st.now.Add(ms) }

func TestImportedHitsAreInTheTotalButInNoWindow(t *testing.T) {
	st := newSite(t, nil)
	if got, _ := st.importText(`{"code":"old","url":"https://a.example/","hits":100,"created_at":"2019-05-04T03:02:01Z"}`); got != "1 0 0: 201" {
		t.Fatal(got)
	}
	st.get("/old")
	for target, want := range map[string]string{
		"/stats/old":                   `{"hits":101,"unique":1}`,
		"/stats/old?include=countries": `{"hits":101,"unique":1,"countries":[{"value":"other","hits":101}]}`,
	} {
		if got := strings.TrimSpace(st.call("GET", target, "").body); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
	var window struct{ Hits, Unique uint64 }
	if err := json.Unmarshal([]byte(st.call("GET", "/stats/old?interval=day", "").body), &window); err != nil || window.Hits != 1 {
		t.Errorf("got %+v, %v, want the hit of today", window, err)
	}
}

func TestOnlyImportsMayDifferFromTakenCodesByCase(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"Spring"}`)
	got, _ := st.importText(
		`{"code":"spring","url":"https://b.example/"}`, `{"code":"SPRING","url":"https://c.example/"}`,
		`{"code":"Spring","url":"https://d.example/"}`, `{"code":"SPRING","url":"https://e.example/"}`, `{"code":"SPRING","url":"https://c.example/"}`)
	if want := "2 1 2: 201 201 409 409 200"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for code, want := range map[string]string{"Spring": "https://a.example/", "spring": "https://b.example/", "SPRING": "https://c.example/"} {
		if got := st.get("/" + code).header.Get("Location"); got != want {
			t.Errorf("%s leads to %s, want %s", code, got, want)
		}
	}
	for _, alias := range []string{"sPRING", "spring"} {
		if r := st.call("POST", "/shorten", `{"url":"https://f.example/","alias":"`+alias+`"}`); r.problem() != "alias_taken" {
			t.Errorf("%s: got %d %s", alias, r.status, r.body)
		}
	}
	if r := st.call("DELETE", "/links/spring", ""); r.status != 204 {
		t.Errorf("got %+v", r)
	}
	if got, want := st.get("/spring").status, 404; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := st.get("/Spring").header.Get("Location"); got != "https://a.example/" {
		t.Errorf("the variant of the deleted link leads to %q", got)
	}
}

func TestALinkThatIsOverOrUsedUpIsImported(t *testing.T) {
	st := newSite(t, nil)
	got, _ := st.importText(
		`{"code":"over","url":"https://a.example/","expires_at":"2020-01-01T00:00:00Z","created_at":"2019-01-01T00:00:00Z"}`,
		`{"code":"used","url":"https://a.example/","max_hits":3,"hits":4}`)
	if want := "2 0 0: 201 201"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for _, code := range []string{"over", "used"} {
		if r := st.get("/" + code); r.status != 410 {
			t.Errorf("%s: got %d, want 410", code, r.status)
		}
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
		if got := r.fields(); r.status != 422 || got != want {
			t.Errorf("%s: got %d %s, want %s", fields, r.status, got, want)
		}
	}
	item := `[{"code":"c","url":"https://a.example/"}]`
	for query, want := range map[string]string{"?owner=all": "owner:range", "?owner=99": "owner:unknown", "?owner=0": "owner:range", "?user=1": "user:unknown"} {
		if r := st.call("POST", "/import"+query, item); r.status != 422 || r.fields() != want {
			t.Errorf("%s: got %d %s, want %s", query, r.status, r.body, want)
		}
	}
	if n := st.engine.Metrics().Links; n != 0 {
		t.Errorf("got %d links, want none", n)
	}
}

func TestAnImportMakesLinksForAnotherUser(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", "member")
	if r := st.call("POST", fmt.Sprintf("/import?owner=%d", ann.ID), `[{"code":"hers","url":"https://a.example/"}]`); r.status != 200 {
		t.Fatalf("got %+v", r)
	}
	d, err := st.engine.Read(keyOf("hers"))
	if err != nil || d.Owner != ann.ID {
		t.Errorf("got %+v, %v, want owner %d", d, err, ann.ID)
	}
	if got, _ := st.importText(`{"code":"hers","url":"https://a.example/"}`); got != "0 0 1: 409" {
		t.Errorf("the same for another user: got %s", got)
	}
}

// A deleted code stays taken for everybody but its former owner and admins, who alone may import.
func TestAnImportTakesACodeThatSomebodyElseHasDeleted(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", "member")
	hers := fmt.Sprintf("/import?owner=%d", ann.ID)
	if r := st.call("POST", hers, `[{"code":"spring","url":"https://a.example/"}]`); r.status != 200 {
		t.Fatalf("got %+v", r)
	}
	if r := st.call("DELETE", "/links/spring?owner=all", ""); r.status != 204 {
		t.Fatalf("got %+v", r)
	}
	for _, want := range []string{"3 0 0: 201 201 201", "0 3 0: 200 200 200"} {
		got, _ := st.importText(`{"code":"SPRING","url":"https://b.example/"}`, `{"code":"spring","url":"https://b.example/"}`, `{"code":"Spring","url":"https://b.example/"}`)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if r := itemOf(st.call("POST", hers, `[{"code":"spring","url":"https://c.example/"}]`)); r.status != 409 {
		t.Errorf("for its former owner, afterwards: got %d %s", r.status, r.body)
	}
}
