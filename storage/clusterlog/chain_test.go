package clusterlog

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
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
			expect.MustEqual(t, bytes.Equal(given[n], own[i]), err == nil, "entry %d given after %v: got %v", n, before, err)
			if err != nil {
				expect.MustThat(t, (errors.Is(err, ErrCorrupt) || errors.Is(err, ErrDiverged)) && after == before, "got %v, %v", after, err)
				continue
			}
			expect.MustThat(t, e.Sequence == uint64(i+1) && after.Sequence == e.Sequence && after.Epoch == e.Epoch,
				"got entry %d of epoch %d and position %v", e.Sequence, e.Epoch, after)
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
		encoded, _, at = at.Next(epoch, BatchID{byte(len(entries))}, payload, nil)
		entries = append(entries, encoded)
	}
	return entries
}

func TestAnEntryOfAnOlderEpochDoesNotFollow(t *testing.T) {
	_, _, at := Origin(ID{}).Next(7, BatchID{}, nil, nil)
	late, _, _ := at.Next(6, BatchID{}, nil, nil)
	_, _, err := at.Follow(late)
	expect.Error(t, err, ErrDiverged)
}

// An edge follows the chain without private parts, and a full node finds whatever is not the one that was
// written with its entry.
func TestAnEntryHasOnePrivatePart(t *testing.T) {
	origin := Origin(ID{1})
	encoded, sealed, after := origin.Next(1, BatchID{1}, []byte("open"), []byte("private"))
	expect.That(t, !bytes.Contains(encoded, []byte("private")), "the entry has its private part: %q", encoded)
	_, same, _ := origin.Next(1, BatchID{1}, []byte("open"), []byte("private"))
	expect.That(t, !bytes.Equal(sealed, same), "two private parts with the same rows are the same bytes: %x", sealed)
	e, at, err := origin.Follow(encoded)
	expect.MustThat(t, err == nil && at == after && !e.Whole() && e.Private == nil, "got %+v, %v, %v; want an entry that is not whole, and %v", e, at, err, after)
	for name, wrong := range map[string][]byte{
		"none": nil, "another one": same, "one without its end": sealed[:len(sealed)-1], "the salt": sealed[:saltBytes], "more": append(bytes.Clone(sealed), 0),
	} {
		err := e.Attach(wrong)
		expect.That(t, errors.Is(err, ErrCorrupt) && !e.Whole(), "%s: got %v, want %v", name, err, ErrCorrupt)
	}
	if err := e.Attach(sealed); err != nil || string(e.Private) != "private" || !e.Whole() {
		t.Errorf("got %q, %v", e.Private, err)
	}
	plain, none, _ := origin.Next(1, BatchID{1}, []byte("open"), nil)
	if e, _, err = origin.Follow(plain); err != nil || none != nil || !e.Whole() {
		t.Errorf("without a private part: got %+v, %x, %v", e, none, err)
	}
	err = e.Attach(sealed)
	expect.That(t, errors.Is(err, ErrCorrupt) && e.Private == nil, "a private part of an entry that has none: got %v", err)
}

func TestAPositionIsTextOfAFixedWidth(t *testing.T) {
	p := Position{Sequence: 0x1f, Epoch: 7, Hash: Hash(bytes.Repeat([]byte{0xab}, 32))}
	want := "000000000000001f 0000000000000007 " + strings.Repeat("ab", 32)
	expect.MustEqual(t, p.String(), want)
	got, err := ParsePosition([]byte(want))
	expect.That(t, err == nil && got == p, "got %v, %v", got, err)
	for i := range want {
		expect.Error(t, expect.Err(ParsePosition(slices.Replace([]byte(want), i, i+1, 'X'))), ErrCorrupt, "with byte %d changed", i)
	}
	expect.Error(t, expect.Err(ParsePosition([]byte(want[1:]))), ErrCorrupt, "one byte shorter")
}

func TestAnIDIsReadAsItIsWritten(t *testing.T) {
	id := NewID()
	got, err := ParseID([]byte(id.String()))
	expect.That(t, err == nil && got == id, "got %v, %v; want %v", got, err, id)
	for _, text := range []string{"", strings.Repeat("A", 32), id.String() + "0", strings.Repeat("g", 32)} {
		expect.Error(t, expect.Err(ParseID([]byte(text))), ErrCorrupt, "%q", text)
	}
	one, other := NewBatchID(), NewBatchID()
	expect.That(t, one != other, "two batches have one id")
}

func TestAFingerprintIsReadAsItIsWritten(t *testing.T) {
	f := FingerprintOf([16]byte([]byte("the visitors key")))
	got, err := ParseFingerprint([]byte(f.String()))
	expect.That(t, err == nil && got == f, "got %v, %v; want %v", got, err, f)
	expect.That(t, FingerprintOf([16]byte([]byte("the visitors kez"))) != f, "two keys have the fingerprint %v", f)
	for _, text := range []string{"", f.String()[1:], f.String() + "0", strings.ToUpper(f.String()[:31]) + "x"} {
		expect.Error(t, expect.Err(ParseFingerprint([]byte(text))), ErrCorrupt, "%q", text)
	}
}
