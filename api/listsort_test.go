package api

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestAListSortedByFiguresSaysAsOfWhen: nothing is rolled up yet, so all figures are as of the present hour's
// beginning.
func TestAListSortedByFiguresSaysAsOfWhen(t *testing.T) {
	st := newSite(t, nil)
	st.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	for i := range 3 {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"l%d"}`, i))
	}
	for sort, dated := range map[string]bool{"visitors": true, "last_hit": true, "hits": false, "created": false, "": false} {
		var page struct {
			Data  []struct{ Code string }
			AsOf  *time.Time `json:"as_of"`
			Total *uint64
		}
		r := st.call("GET", "/links?total=true&order=desc&sort="+sort, "")
		r.need(t, sort, 200)
		expect.OK(t, json.Unmarshal([]byte(r.body), &page))
		expect.That(t, len(page.Data) == 3 && page.Data[0].Code == "l2" && page.Total != nil && *page.Total == 3, "%q: got %s", sort, r.body)
		expect.That(t, (page.AsOf != nil) == dated && (!dated || page.AsOf.Equal(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))), "%q: got as_of %v", sort, page.AsOf)
	}
}
