package api

import (
	"sync/atomic"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
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
		expect.Equal(t, r.header.Get("Retry-After"), "10", request)
	}
	st.get("/abc").expect(t, "a redirect", 302)
	for request := range writes {
		r := st.write(request, tokenID)
		expect.That(t, adding[request] || r.status < 400, "%s: got %d %s, want it done", request, r.status, r.body)
	}
	full.Store(false)
	for request := range adding {
		r := st.write(request, tokenID)
		expect.That(t, r.status < 400, "with room again, %s: got %d %s", request, r.status, r.body)
	}
}
