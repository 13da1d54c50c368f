package api

import (
	"strings"
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
	if r := st.call("POST", "/shorten", same); r.status != 200 {
		t.Errorf("a link that exists: got %d %s, want 200", r.status, r.body)
	}
	for request := range adding {
		r := st.write(request, tokenID)
		if r.status != 503 || !strings.Contains(r.body, `"overloaded"`) || !strings.Contains(r.body, "--memory-limit") {
			t.Errorf("%s: got %d %s, want 503 overloaded that names --memory-limit", request, r.status, r.body)
		}
		if got := r.header.Get("Retry-After"); got != "10" {
			t.Errorf("%s: got Retry-After %q, want 10", request, got)
		}
	}
	if r := st.get("/abc"); r.status != 302 {
		t.Errorf("a redirect: got %d, want 302", r.status)
	}
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
