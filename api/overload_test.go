package api

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/shed"
	"shunt/engine/expect"
)

func TestPressedLoopsShedCreatesAndNothingElse(t *testing.T) {
	st := newSite(t, nil)
	tokenID := st.prepareWrites()
	st.shedder = shed.New(func(time.Time) time.Duration { return time.Minute })
	st.router.shedder = st.shedder
	shedding := false
	for range 100 { // each sample raises the level, and in the end creates are refused
		if r := st.call("POST", "/shorten", `{"url":"http://a/"}`); r.status == fasthttp.StatusServiceUnavailable {
			shedding = true
			r.expect(t, "", `"overloaded"`, header("Retry-After", "1"))
			break
		}
		time.Sleep(21 * time.Millisecond)
	}
	expect.MustThat(t, shedding, "creates are not shed")
	st.get("/abc").expect(t, "a redirect", 302)
	for request := range writes {
		r := st.write(request, tokenID)
		expect.That(t, adding[request] || r.status < 400, "%s: got %d %s, want it done", request, r.status, r.body)
	}
	got := st.metric(`shunt_shed_total{kind="creates"}`)
	expect.That(t, got != "0" && got != "", "shunt_shed_total: got %q", got)
}

func TestEndpointsAreShedInTheirOrder(t *testing.T) {
	st := newSite(t, nil)
	want := map[string]shed.Kind{
		"POST /shorten": shed.Create, "POST /shorten/bulk": shed.Create, "POST /import": shed.Create,
		"DELETE /links/{code}": shed.Freeing, "DELETE /tokens/{id}": shed.Freeing, "DELETE /edges/{name}": shed.Freeing, "DELETE /session": shed.Freeing,
		"GET /links": shed.Other, "PATCH /links/{code}": shed.Other, "POST /session": shed.Other,
	}
	for _, e := range st.endpoints() {
		kind, named := want[e.method+" "+e.path]
		expect.That(t, !named || e.kind() == kind, "%s %s: got kind %d, want %d", e.method, e.path, e.kind(), kind)
		delete(want, e.method+" "+e.path)
	}
	expect.That(t, len(want) == 0, "there are no endpoints %v", want)
}
