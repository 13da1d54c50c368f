package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"shunt/api/admin"
	"shunt/api/urlpath"
	"shunt/engine"
	"shunt/engine/expect"
)

// plant writes a link into the store, as an earlier run would have: the engine does not know it.
func (st *site) plant(code string, change func(*engine.Record)) {
	st.t.Helper()
	id, err := st.store.AllocateIDs(1)
	expect.NoError(st.t, err)
	r := engine.Record{
		Hot:  engine.Hot{Key: keyOf(code), ID: id, Owner: 1, Target: "https://example.com/" + code},
		Cold: engine.Cold{Key: keyOf(code), Version: 1, CreatedAtMs: 1000, UpdatedAtMs: 1000},
	}
	if change != nil {
		change(&r)
	}
	durable := make(chan error, 1)
	st.store.Apply(engine.Mutation{Hot: r.Hot, Cold: r.Cold}, func(err error) { durable <- err })
	expect.NoError(st.t, <-durable)
}

// plantAll plants a link of each kind that a load treats in its own way.
func (st *site) plantAll() {
	st.t.Helper()
	st.plant("plain", nil)
	st.plant("again", nil)
	st.plant("late", nil)
	st.plant("later", nil)
	st.plant("capped", func(r *engine.Record) { r.Hot.MaxHits, r.Hot.Flags, r.Cold.ImportedHits = 3, engine.FlagCapped, 1 })
	st.plant("switched-off", func(r *engine.Record) {
		r.Hot.MaxHits, r.Hot.Flags = 2, engine.FlagCapped
		r.SetDisabled(true)
	})
}

func TestCodesAreNever404BeforeTheyAreLoaded(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			st.plantAll()
			st.run(st.engine.Run)
			conn := d.open(t, st)()
			defer conn.Close()
			answers := bufio.NewReader(conn)
			want := []struct {
				code   string
				status int
			}{
				{"plain", 302}, {"never-made", 404}, {"plain", 302}, {"capped", 503}, {"switched-off", 410}, {"again", 302}, {"capped", 503}, {"plain", 302},
				{"late.", 302}, {"%6Cater&x=y", 302}, {"never-made)", 404}, {"capped%20", 503}, {"%73witched-off", 410}, {"plain", 302},
			}
			var all strings.Builder
			for _, w := range want { // in one piece, so that answers must keep their order
				all.WriteString(requestText("GET", "/"+w.code, "", browser))
			}
			expect.OK(t, expect.Err(io.WriteString(conn, all.String())))
			for _, w := range want {
				r := readReply(t, answers, "GET")
				r.expect(t, w.code, w.status)
				target := "https://example.com/" + spoiltCode(w.code)
				expect.That(t, w.status != 302 || r.header.Get("Location") == target, "%s: got Location %q", w.code, r.header.Get("Location"))
				expect.That(t, w.status != 503 || r.header.Get("Retry-After") != "" && r.header.Get("Cache-Control") == "no-store",
					"%s: got %+v", w.code, r)
			}
			expect.NoError(t, st.engine.Load(t.Context(), nil))
			for _, w := range []struct {
				code   string
				status int
			}{{"capped", 302}, {"capped", 302}, {"capped", 410}, {"never-made", 404}, {"plain", 302}} {
				st.get("/"+w.code, browser).expect(t, "loaded, "+w.code, w.status)
			}
			st.wantStats("plain", 5, 1)
			st.wantStats("late", 1, 1)
			st.wantStats("later", 1, 1)
			st.wantStats("again", 1, 1)
			st.wantStats("capped", 3, 1)
		})
	}
}

// spoiltCode returns the code that is meant by a path without its slash.
func spoiltCode(path string) string {
	code, _ := urlpath.SpoiltCode([]byte("/"+path), nil)
	return string(code)
}

func TestPreviewsAndQRCodesComeFromTheStoreWhileLinksAreLoaded(t *testing.T) {
	st := unloadedSite(t, nil)
	st.plantAll()
	for path, status := range map[string]int{
		"/plain+": 200, "/again.svg": 200, "/capped+": 503, "/switched-off+": 410, "/never-made+": 404, "/never-made.svg": 404,
		"/l%61te+.": 200, "/later%2Esvg": 200, "/never-made+)": 404,
	} {
		st.get(path, browser).expect(t, path, status)
	}
}

func TestCallsWaitUntilAllLinksAreLoaded(t *testing.T) {
	st := unloadedSite(t, nil)
	st.plantAll()
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/shorten", `{"url":"http://a/"}`}, {"GET", "/stats/plain", ""}, {"GET", "/links/plain", ""}, {"DELETE", "/links/plain", ""},
	} {
		st.call(c.method, c.path, c.body).expect(t, fmt.Sprintf("%s %s", c.method, c.path), problemOf("loading"), 503, some("Retry-After"))
	}
}

// health returns the health that path of the admin address answers.
func (st *site) health(path string) (h admin.Health, r reply) {
	st.t.Helper()
	r = send(st.t, st.adminAt, "GET", requestText("GET", path, "", "Accept: application/json"))
	err := json.Unmarshal([]byte(r.body), &h)
	expect.MustThat(st.t, err == nil && r.header.Get("Content-Type") == "application/json" && r.header.Get("Vary") == "Accept", "%s: got %+v, %v", path, r, err)
	return h, r
}

// notOK returns the names of the conditions of h that are not OK.
func notOK(h admin.Health) string {
	var names []string
	for _, c := range h.Wrong() {
		names = append(names, c.Name)
		if c.Detail == "" || !strings.HasSuffix(c.Detail, ".") {
			names = append(names, "without a sentence: "+c.Detail)
		}
	}
	return strings.Join(names, " ")
}

func TestHealthNamesEachConditionInJSON(t *testing.T) {
	st := unloadedSite(t, nil)
	h, r := st.health("/readyz")
	expect.That(t, r.status == http.StatusServiceUnavailable && h.Status == admin.StatusLoading && notOK(h) == "loading" && h.Progress != nil &&
		*h.Progress == 0, "not loaded: got %d %s", r.status, r.body)
	h, r = st.health("/healthz")
	expect.That(t, r.status == 200 && notOK(h) == "loading", "alive: got %d %s", r.status, r.body)
	send(t, st.adminAt, "GET", requestText("GET", "/readyz", "")).expect(t, "as text", 503, bodyOf("loading\n"))
	send(t, st.adminAt, "GET", requestText("GET", "/healthz", "")).expect(t, "alive, as text", 200, bodyOf("ok\n"))
	expect.NoError(t, st.engine.Load(t.Context(), nil))
	h, r = st.health("/readyz")
	expect.That(t, r.status == 200 && h.Status == admin.StatusOK && notOK(h) == "" && h.Progress == nil && h.EstimateSeconds == nil,
		"loaded: got %d %s", r.status, r.body)
	names := map[string]bool{}
	for _, c := range h.Conditions {
		names[c.Name] = true
	}
	for _, name := range []string{"draining", "loading", "read_only", "stalled", "journal_standby"} {
		expect.That(t, names[name], "there is no condition %s in %s", name, r.body)
	}
	st.now.Add(3 * 60_000) // nobody has flushed since the start
	h, r = st.health("/readyz")
	expect.That(t, r.status == 200 && notOK(h) == "", "within the flush interval of an hour: got %d %s", r.status, r.body)
	st.now.Add(3600_000)
	h, r = st.health("/readyz")
	expect.That(t, r.status == 200 && notOK(h) == "flush_late", "no flush for an hour: got %d %s", r.status, r.body)
	expect.Equal(t, h.Line(), "ready, flush_late: Figures were not written to the disk for 1h3m0s")
}
