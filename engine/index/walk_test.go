package index

import (
	"encoding/binary"
	"testing"

	"shunt/engine/expect"
)

// TestWalksHaveEveryLinkOnceWhateverIsWritten walks in parts of any size, while links are edited, made and deleted and
// shards grow: a link that stays comes once.
func TestWalksHaveEveryLinkOnceWhateverIsWritten(t *testing.T) {
	const links = 20_000
	x := newIndex()
	for id := range uint64(links) {
		x.put(t, walkedLink(id))
	}
	met, more, written := map[uint64]int{}, true, uint64(0)
	walks := x.Walks()
	for slots := 1; more; slots = slots*3%1000 + 1 {
		more = false
		for i := range walks {
			_, goesOn := walks[i].Read(slots, func(l Link) { met[l.ID()]++ })
			more = more || goesOn
		}
		for range 100 {
			x.put(t, walkedLink(links+written))
			x.put(t, walkedLink(written%links))
			written++
		}
	}
	for id := range uint64(links) {
		expect.MustThat(t, met[id] == 1, "link %d comes %d times", id, met[id])
	}
	for id, n := range met {
		expect.That(t, n == 1 && id < links+written, "link %d comes %d times of %d made", id, n, links+written)
	}
}

// TestAWalkHasNoDeletedLinkAndEnds reads more slots than there are, twice.
func TestAWalkHasNoDeletedLinkAndEnds(t *testing.T) {
	x := newIndex()
	gone := walkedLink(2)
	x.put(t, walkedLink(1))
	x.put(t, gone)
	gone.Flags, gone.Target = FlagTombstone, nil
	x.put(t, gone)
	walks := x.Walks()
	for _, want := range [][]uint64{{1}, nil} {
		var ids []uint64
		for i := range walks {
			_, more := walks[i].Read(1<<20, func(l Link) { ids = append(ids, l.ID()) })
			expect.MustThat(t, !more, "a walk goes on after its end")
		}
		expect.Slices(t, ids, want)
	}
}

func walkedLink(id uint64) HotView {
	return HotView{KeyView: viewOf(binary.LittleEndian.AppendUint64(nil, spreadCode(int(id)))), Target: []byte("https://example.com/"), ID: id}
}
