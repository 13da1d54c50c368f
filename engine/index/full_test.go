package index

import (
	"encoding/binary"
	"errors"
	"testing"

	"shunt/engine/expect"
)

// TestAFullShardTakesEditsAndDeletions fills the only chunks that its arena may have. One record is garbage.
func TestAFullShardTakesEditsAndDeletions(t *testing.T) {
	defer func(k int) { lastChunk = k }(lastChunk)
	lastChunk = 1
	x := newIndex()
	target := make([]byte, 100)
	var codes [][]byte
	put := func(code []byte, flags Flags) error {
		p := placeOf(&x.key, viewOf(code))
		return x.shards[p.shard].put(p.tag, &HotView{KeyView: viewOf(code), Target: target, ID: 1, Flags: flags})
	}
	for n := 0; ; n++ {
		code := binary.LittleEndian.AppendUint64(nil, spreadCode(n))
		if placeOf(&x.key, viewOf(code)).shard != 3 {
			continue
		}
		if err := put(code, 0); errors.Is(err, errShardFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if codes = append(codes, code); len(codes) == 1 {
			expect.OK(t, put(code, 0))
		}
	}
	for range 3 * len(codes) {
		expect.OK(t, put(codes[0], FlagForwardQuery))
	}
	target = nil
	for _, code := range codes[1:] {
		expect.OK(t, put(code, FlagTombstone))
		_, ok := x.Resolve(viewOf(code))
		expect.MustThat(t, !ok, "code %q was deleted and is found", code)
	}
	l, ok := x.Resolve(viewOf(codes[0]))
	expect.That(t, ok && l.Flags()&FlagForwardQuery != 0, "an edited link is lost")
}
