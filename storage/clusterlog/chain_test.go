package clusterlog

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The chain against a plain slice: a follower accepts exactly the entries that were appended, in
// their order, whatever else it is given.
func TestAChainAcceptsItsOwnEntriesInOrderOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := [2]ID{{1}, {2}}
		own := makeChain(t, ids[0], "own")
		foreign := makeChain(t, ids[1], "foreign")
		at := Origin(ids[0])
		for i := 0; i < len(own); {
			given := rapid.SampledFrom([][][]byte{own, foreign}).Draw(t, "log")
			n := rapid.IntRange(0, len(given)-1).Draw(t, "entry")
			if rapid.Bool().Draw(t, "next") {
				given, n = own, i
			}
			before := at
			e, after, err := at.Follow(given[n])
			if right := bytes.Equal(given[n], own[i]); right != (err == nil) {
				t.Fatalf("entry %d given after %v: got %v", n, before, err)
			}
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrDiverged) || after != before {
					t.Fatalf("got %v, %v", after, err)
				}
				continue
			}
			if e.Sequence != uint64(i+1) || after.Sequence != e.Sequence || after.Epoch != e.Epoch {
				t.Fatalf("got entry %d of epoch %d and position %v", e.Sequence, e.Epoch, after)
			}
			at = after
			i++
		}
	})
}

// makeChain returns encoded entries of random epochs that do not fall.
func makeChain(t *rapid.T, id ID, name string) (entries [][]byte) {
	at, epoch := Origin(id), uint64(1)
	for _, payload := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 8).Draw(t, name) {
		epoch += rapid.Uint64Range(0, 2).Draw(t, "epochs")
		var encoded []byte
		encoded, at = at.Next(epoch, BatchID{byte(len(entries))}, payload)
		entries = append(entries, encoded)
	}
	return entries
}

func TestAnEntryOfAnOlderEpochDoesNotFollow(t *testing.T) {
	_, at := Origin(ID{}).Next(7, BatchID{}, nil)
	late, _ := at.Next(6, BatchID{}, nil)
	if _, _, err := at.Follow(late); !errors.Is(err, ErrDiverged) {
		t.Errorf("got %v, want %v", err, ErrDiverged)
	}
}

func TestAPositionIsTextOfAFixedWidth(t *testing.T) {
	p := Position{Sequence: 0x1f, Epoch: 7, Hash: Hash(bytes.Repeat([]byte{0xab}, 32))}
	want := "000000000000001f 0000000000000007 " + strings.Repeat("ab", 32)
	if got := p.String(); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got, err := ParsePosition([]byte(want)); err != nil || got != p {
		t.Errorf("got %v, %v", got, err)
	}
	for i := range want {
		if _, err := ParsePosition(slices.Replace([]byte(want), i, i+1, 'X')); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with byte %d changed: got %v, want %v", i, err, ErrCorrupt)
		}
	}
	if _, err := ParsePosition([]byte(want[1:])); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one byte shorter: got %v", err)
	}
}

func TestAnIDIsReadAsItIsWritten(t *testing.T) {
	id := NewID()
	if got, err := ParseID([]byte(id.String())); err != nil || got != id {
		t.Errorf("got %v, %v; want %v", got, err, id)
	}
	for _, text := range []string{"", strings.Repeat("A", 32), id.String() + "0", strings.Repeat("g", 32)} {
		if _, err := ParseID([]byte(text)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got %v, want %v", text, err, ErrCorrupt)
		}
	}
	if one, other := NewBatchID(), NewBatchID(); one == other {
		t.Error("two batches have one id")
	}
}

func TestAFingerprintIsReadAsItIsWritten(t *testing.T) {
	f := FingerprintOf([16]byte([]byte("the visitors key")))
	if got, err := ParseFingerprint([]byte(f.String())); err != nil || got != f {
		t.Errorf("got %v, %v; want %v", got, err, f)
	}
	if other := FingerprintOf([16]byte([]byte("the visitors kez"))); other == f {
		t.Errorf("two keys have the fingerprint %v", f)
	}
	for _, text := range []string{"", f.String()[1:], f.String() + "0", strings.ToUpper(f.String()[:31]) + "x"} {
		if _, err := ParseFingerprint([]byte(text)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: got %v, want %v", text, err, ErrCorrupt)
		}
	}
}
