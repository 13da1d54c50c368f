package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/texts"
)

// TestOnlyRedirectFieldsAreInMemory makes links whose other fields take 2.5 KB each, 10 MB in all.
// Time is faked, because a busy machine may need seconds.
func TestOnlyRedirectFieldsAreInMemory(t *testing.T) {
	expect.Long(t)
	synctest.Test(t, onlyWhatARedirectNeedsIsInMemory)
}

func onlyWhatARedirectNeedsIsInMemory(t *testing.T) {
	const links = 1 << 14 // the first chunks of all arenas have 4 MiB
	e := newTestEngine(t, engine.Options{})
	defer e.stop()
	tags := make([]string, engine.MaxTags)
	for i := range tags {
		tags[i] = fmt.Sprintf("%02d%s", i, strings.Repeat("t", engine.MaxTagBytes-2))
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range links / 16 {
				_, _, err := e.Create(context.Background(), engine.Draft{
					Owner: 1, Target: "https://example.com/", Texts: engine.Texts{Title: strings.Repeat("x", texts.Named("title").Max)}, Tags: tags,
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	m := e.Metrics()
	got, limit := m.ArenaBytes+m.IndexBytes, uint64(links*500)
	expect.That(t, got <= limit, "%d links of 28 bytes of code and target take %d bytes in memory, want at most %d", links, got, limit)
	expect.Equal(t, m.Links, links, "links")
}
