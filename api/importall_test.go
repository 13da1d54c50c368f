package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

// The connections are cut when an answer comes: the server has imported a batch.
func TestAnImportOverCutConnectionsKeepsOrder(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	const batches, links = 40, 50
	st := newSite(t, nil)
	dial := st.cutting(5)
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
	c, err := client.New("http://127.0.0.1:8080", st.token, &client.Options{
		Transport: transport, Retry: client.Retry{Attempts: 10, BaseWait: time.Millisecond},
	})
	expect.NoError(t, err)
	all := func(yield func([]json.RawMessage) bool) {
		for i := range batches {
			var b []json.RawMessage
			for j := range links {
				b = append(b, fmt.Appendf(nil, `{"code":"c%d","url":"https://example.org/"}`, i*links+j))
			}
			if !yield(b) {
				return
			}
		}
	}
	done := 0
	for r, err := range c.ImportAll(t.Context(), all) {
		expect.NoError(t, err)
		done += r.Created + r.Existing
	}
	got := st.engine.Metrics().Links
	expect.That(t, done == batches*links && got == batches*links, "got %d results and %d links, want %d", done, got, batches*links)
	next := batches * links
	for link, err := range c.Export(t.Context(), client.ExportQuery{}) {
		expect.NoError(t, err)
		if next--; link.Code != fmt.Sprint("c", next) {
			t.Fatalf("got %s, want c%d", link.Code, next)
		}
	}
}
