package api

import (
	"sync/atomic"
	"testing"

	"shunt/engine"
)

// adding are the writes that make links.
var adding = map[string]bool{"POST /shorten": true, "POST /shorten/bulk": true, "POST /import": true}

func TestAFullMemoryRefusesNewLinksAndNothingElse(t *testing.T) {
	var full atomic.Bool
	st := newSiteOn(t, func(o *engine.Options) { o.Full = full.Load }, nil)
	tokenID := st.prepareWrites()
	const same = `{"url":"http://same.example/","alias":"same"}`
	st.shorten(same)
	full.Store(true)
	st.call("POST", "/shorten", same).expect(t, "a link that exists", 200)
	for request := range adding {
		r := st.write(request, tokenID)
		r.expect(t, request, 503, `"overloaded"`, "--memory-limit")
		if got := r.header.Get("Retry-After"); got != "10" {
			t.Errorf("%s: got Retry-After %q, want 10", request, got)
		}
	}
	st.get("/abc").expect(t, "a redirect", 302)
	for request := range writes {
		if r := st.write(request, tokenID); !adding[request] && r.status >= 400 {
			t.Errorf("%s: got %d %s, want it done", request, r.status, r.body)
		}
	}
	full.Store(false)
	for request := range adding {
		if r := st.write(request, tokenID); r.status >= 400 {
			t.Errorf("with room again, %s: got %d %s", request, r.status, r.body)
		}
	}
}
