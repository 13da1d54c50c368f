package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestALinkIsShownWithItsOwnHits deletes a link and takes its code again, over and over, while
// other goroutines read and edit it. The title of each link is the number of hits that it was
// imported with.
func TestALinkIsShownWithItsOwnHits(t *testing.T) {
	const links = 1500
	st := newSite(t, nil)
	take := func(hits uint64) {
		_, _, err := st.engine.Create(t.Context(), engine.Draft{
			Alias: "x", Owner: 1, Target: "http://a/", Texts: engine.Texts{Title: fmt.Sprint(hits)},
			Import: &engine.Import{CreatedAt: time.Now(), UpdatedAt: time.Now(), Hits: hits},
		})
		expect.NoError(t, err)
	}
	take(0)
	done := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(done)
	for _, ask := range []func(i int) reply{
		func(int) reply { return st.call("GET", "/links/x", "") },
		func(int) reply { return st.call("GET", "/links/x", "") },
		func(int) reply { return st.call("GET", "/links/x", "") },
		func(int) reply { return st.call("GET", "/links/x", "") },
		func(i int) reply { return st.call("PATCH", "/links/x", fmt.Sprintf(`{"url":"http://a/%d"}`, i)) },
		func(int) reply { return st.call("GET", "/links?limit=1", "") },
	} {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				r := ask(i)
				expect.That(t, r.status != 200 || ownHits(r.body), "got %s", r.body)
			}
		})
	}
	for i := range uint64(links) {
		expect.NoError(t, st.engine.Delete(t.Context(), keyOf("x"), engine.Guard{AnyOwner: true}))
		take(i + 1)
	}
}

// ownHits reports whether a link has the number of hits in its title.
func ownHits(body string) bool {
	_, rest, found := strings.Cut(body, `"title":"`)
	title, rest, _ := strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, `"hits":`)
	return !found || strings.HasPrefix(rest, title+",") || strings.HasPrefix(rest, title+"}")
}
