package api

import (
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/shed"
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
			if !strings.Contains(r.body, `"overloaded"`) || r.header.Get("Retry-After") != "1" {
				t.Errorf("got %v %s, want overloaded, Retry-After 1", r.header, r.body)
			}
			break
		}
		time.Sleep(21 * time.Millisecond)
	}
	if !shedding {
		t.Fatal("creates are not shed")
	}
	st.get("/abc").expect(t, "a redirect", 302)
	for request := range writes {
		if r := st.write(request, tokenID); !adding[request] && r.status >= 400 {
			t.Errorf("%s: got %d %s, want it done", request, r.status, r.body)
		}
	}
	if got := st.metric(`shunt_shed_total{kind="creates"}`); got == "0" || got == "" {
		t.Errorf("shunt_shed_total: got %q", got)
	}
}

func TestEndpointsAreShedInTheirOrder(t *testing.T) {
	st := newSite(t, nil)
	want := map[string]shed.Kind{
		"POST /shorten": shed.Create, "POST /shorten/bulk": shed.Create, "POST /import": shed.Create,
		"DELETE /links/{code}": shed.Freeing, "DELETE /tokens/{id}": shed.Freeing, "DELETE /session": shed.Freeing,
		"GET /links": shed.Other, "PATCH /links/{code}": shed.Other, "POST /session": shed.Other,
	}
	for _, e := range st.endpoints() {
		if kind, named := want[e.method+" "+e.path]; named && e.kind() != kind {
			t.Errorf("%s %s: got kind %d, want %d", e.method, e.path, e.kind(), kind)
		}
		delete(want, e.method+" "+e.path)
	}
	if len(want) > 0 {
		t.Errorf("there are no endpoints %v", want)
	}
}
