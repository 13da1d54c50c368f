package index

import (
	"fmt"
	"strings"
	"testing"

	"shunt/engine/internal/limits"
)

func TestManyLinksAreLoadedAsIfOneByOne(t *testing.T) {
	x := newIndex()
	var links []HotView
	for id := range uint64(3*batchLinks + 7) { // the last ones are others' variants, and codes of all lengths
		code := fmt.Sprintf("c%d", id%(3*batchLinks))
		if id%5 == 0 {
			code = strings.ToUpper(code) + strings.Repeat("x", int(id%(limits.MaxCodeBytes-8)))
		}
		links = append(links, HotView{Code: []byte(code), Target: fmt.Appendf(nil, "https://x/%d", id), ID: id})
	}
	must(t, x.PutAll(links))
	want := make(map[string]uint64)
	for i := range links {
		want[string(links[i].Code)] = links[i].ID
	}
	for code, id := range want {
		l, ok := x.Resolve([]byte(code))
		if !ok || l.ID() != id {
			t.Errorf("%s: got %v, want link %d", code, ok, id)
		}
		x.AddHits(id, id)
		if got := x.Hits(id); got != id {
			t.Errorf("%s: got %d hits, want %d", code, got, id)
		}
	}
	if got := x.Figures().Links; got != uint64(len(want)) {
		t.Errorf("got %d links, want %d", got, len(want))
	}
}

func TestLoadingStopsAtALinkThatCannotBePut(t *testing.T) {
	x := newIndex()
	links := []HotView{
		{Code: []byte("first"), ID: 1},
		{Code: []byte("second"), ID: maxSlabs << slabBits},
		{Code: []byte("third"), ID: 3},
	}
	if err := x.PutAll(links); err == nil {
		t.Error("an id beyond the limit was accepted")
	}
	if got := x.Figures().Links; got != 0 {
		t.Errorf("%d links of the same batch were put, want 0", got)
	}
}

// TestALoadThatIsExpectedMakesNoLargerTables compares an index that expects its records with one that does
// not. Keys differ, so the sizes of shards differ a little.
func TestALoadThatIsExpectedMakesNoLargerTables(t *testing.T) {
	const records = 100_000
	indexBytes := func(expected uint64) uint64 {
		x := newIndex()
		for id := uint64(1); id <= records; id++ {
			if id == records/10 {
				x.Expect(expected)
			}
			h := HotView{Code: fmt.Appendf(nil, "%08x", id), ID: id, Owner: 1, Target: []byte("https://www.example.com/")}
			if err := x.Put(&h); err != nil {
				t.Fatal(err)
			}
		}
		return x.Figures().IndexBytes
	}
	unaware, aware := indexBytes(0), indexBytes(records)
	if aware > unaware*105/100 {
		t.Errorf("tables take %d bytes where their size was expected, want at most 5 %% over %d", aware, unaware)
	}
}
