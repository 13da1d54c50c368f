package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func testRing(t *testing.T, records int) *ring {
	t.Helper()
	r, err := createRing(t.TempDir(), ringHeader{epoch: 7, rings: 1, records: uint32(records)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.close() })
	return r
}

func record(i uint64) *hitRecord {
	return &hitRecord{linkID: i, visitor: i * 3, owner: uint32(i), hour: 495000, country: 49, class: ClassBot, device: 5, referrer: 513}
}

func TestJournalRecordsHaveTheDocumentedBytes(t *testing.T) {
	r := testRing(t, 256)
	w := (&hitRecord{
		linkID: 0x0102030405060708, visitor: 0x1112131415161718, owner: 0x21222324, hour: 0x313233, country: 0x41,
		class: ClassHead, counted: true, device: 0x5, browser: 0x71, referrer: 0x6162,
	}).words()
	if !r.append(&w) {
		t.Fatal("append to an empty ring failed")
	}
	b := make([]byte, 32)
	copy(b, r.mapping[ringHeaderBytes:])
	const want = "0807060504030201" + "1817161514131211" + "24232221" + "333231" + "41" + "5771" + "6261" + "06790f3a"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJournalHeadersHaveTheDocumentedBytes(t *testing.T) {
	h := ringHeader{epoch: 0x0102, index: 3, rings: 8, records: 1024}
	copy(h.storeID[:], "0123456789abcdef")
	b := h.encode()
	const want = "7368756e746a6e00" + "0100000000000000" + "30313233343536373839616263646566" + "0201000000000000" +
		"03000000" + "08000000" + "00040000" + "381c1893"
	if got := hex.EncodeToString(b[:56]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(b) != ringHeaderBytes || !bytes.Equal(b[56:], make([]byte, ringHeaderBytes-56)) {
		t.Error("the rest of the header is not zero")
	}
	var back ringHeader
	if err := back.decode(b); err != nil || back != h {
		t.Errorf("decoded %+v, %v, want %+v", back, err, h)
	}
}

func TestAFullRingTakesNothingUntilItIsFreed(t *testing.T) {
	r := testRing(t, 256)
	w := record(1).words()
	for i := range 256 {
		if !r.append(&w) {
			t.Fatalf("append %d failed", i)
		}
	}
	if r.append(&w) {
		t.Fatal("a full ring took a record")
	}
	if got := r.fill(); got != 256 {
		t.Errorf("fill is %d, want 256", got)
	}
	r.limit.Add(1)
	if !r.append(&w) || r.append(&w) {
		t.Error("one freed slot did not take exactly one record")
	}
}

func TestASlotIsReadOnlyAsTheSequenceNumberThatItHolds(t *testing.T) {
	r := testRing(t, 256)
	var rec hitRecord
	if r.read(0, &rec) {
		t.Error("a slot that was never written passes for a record")
	}
	w := record(42).words()
	r.append(&w)
	if !r.read(0, &rec) || rec != *record(42) {
		t.Errorf("read %+v, want %+v", rec, *record(42))
	}
	if r.read(256, &rec) {
		t.Error("a record of the last lap passes for one of this lap")
	}
	r.epoch++
	if r.read(0, &rec) {
		t.Error("a record of another epoch passes for one of this epoch")
	}
}

func TestAnyFlippedBitMakesARecordInvalid(t *testing.T) {
	r := testRing(t, 256)
	w := record(42).words()
	r.append(&w)
	var rec hitRecord
	for bit := range 256 {
		r.slots[bit/64] ^= 1 << (bit % 64)
		if r.read(0, &rec) {
			t.Errorf("record passes with bit %d flipped", bit)
		}
		r.slots[bit/64] ^= 1 << (bit % 64)
	}
	if !r.read(0, &rec) {
		t.Error("record does not pass any more after all bits were put back")
	}
}

func TestRacingWritersLoseNoRecord(t *testing.T) {
	const writers, each = 8, 2000
	r := testRing(t, 256)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range each {
				w := record(uint64(g*each + i)).words()
				for !r.append(&w) {
				}
			}
		})
	}
	seen := make(map[uint64]bool)
	var rec hitRecord
	for seq := uint64(0); seq < writers*each; {
		if !r.read(seq, &rec) {
			continue
		}
		if rec != *record(rec.linkID) || seen[rec.linkID] {
			t.Fatalf("record %d: %+v is torn or repeated", seq, rec)
		}
		seen[rec.linkID] = true
		seq++
		r.limit.Store(seq + r.size)
	}
	wg.Wait()
}

func TestReplayTakesWhatTheStoreDoesNotContain(t *testing.T) {
	dir, id := t.TempDir(), Identity{}
	j, err := newJournal(dir, id, 3, 1, 256)
	if err != nil {
		t.Fatal(err)
	}
	r := j.rings[0]
	for i := range uint64(300) {
		w := record(i).words()
		r.limit.Store(i + 1) // everything was freed, as under a stall
		r.append(&w)
	}
	r.slots[(290&r.mask)*recordWords] ^= 1 // a torn record
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ position, first, records, invalid uint64 }{
		"nothing is in the store":    {position: 0, first: 44, records: 255, invalid: 1},
		"some is in the store":       {position: 280, first: 280, records: 19, invalid: 1},
		"everything is in the store": {position: 300, records: 0},
	} {
		var got []uint64
		res, err := replay(dir, id, Positions{Epoch: 3, Rings: []uint64{c.position}}, nil, func(r *hitRecord) { got = append(got, r.linkID) })
		if err != nil {
			t.Fatal(err)
		}
		if res.records != c.records || res.invalid != c.invalid || uint64(len(got)) != c.records || (c.records > 0 && got[0] != c.first) {
			t.Errorf("%s: replayed %d (%d invalid) from %v, want %d (%d) from %d", name, res.records, res.invalid, got[:min(1, len(got))], c.records, c.invalid, c.first)
		}
	}
}

func TestJournalFilesThatCannotBeReplayedAreSkippedAndSaid(t *testing.T) {
	id := Identity{StoreID: [16]byte{1}}
	cases := map[string]func(t *testing.T, path string){
		"missing":            func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"truncated":          func(t *testing.T, path string) { must(t, os.Truncate(path, 5000)) },
		"empty":              func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"of another kind":    func(t *testing.T, path string) { must(t, os.WriteFile(path, make([]byte, 20000), 0o600)) },
		"of another epoch":   func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.epoch++ }) },
		"of another store":   func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.storeID[0]++ }) },
		"of impossible size": func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.records = 257 }) },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j, err := newJournal(dir, id, 1, 2, 256)
			must(t, err)
			for i := range uint64(20) {
				w := record(i).words()
				j.rings[i%2].append(&w)
			}
			must(t, j.close())
			spoil(t, filepath.Join(dir, ringName(id.StoreID, 1, 0)))
			warned := 0
			warn := func(string, error) { warned++ }
			res, err := replay(dir, id, Positions{Epoch: 1, Rings: []uint64{0, 0}}, warn, func(*hitRecord) {})
			if err != nil || warned != 1 || res.missing != 1 || res.records != 10 {
				t.Errorf("got %+v, %d warnings, error %v; want the 10 records of the other ring and a warning", res, warned, err)
			}
		})
	}
}

func TestANewerJournalFormatIsAnError(t *testing.T) {
	dir := t.TempDir()
	j, err := newJournal(dir, Identity{}, 1, 1, 256)
	must(t, err)
	must(t, j.close())
	path := filepath.Join(dir, ringName([16]byte{}, 1, 0))
	b, err := os.ReadFile(path)
	must(t, err)
	b[8] = ringFormat + 1
	binary.LittleEndian.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli))
	must(t, os.WriteFile(path, b, 0o600))
	_, err = replay(dir, Identity{}, Positions{Epoch: 1, Rings: []uint64{0}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "newer format") {
		t.Errorf("got %v, want an error that names the newer format", err)
	}
}

func patchHeader(t *testing.T, path string, patch func(*ringHeader)) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	var h ringHeader
	must(t, h.decode(b))
	patch(&h)
	copy(b, h.encode()[:56])
	must(t, os.WriteFile(path, b, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzRingHeader(f *testing.F) {
	for _, h := range []ringHeader{{epoch: 1, rings: 8, records: 1024}, {epoch: 1, rings: 8, index: 9, records: 1024}} {
		f.Add(h.encode()[:52])
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		b := make([]byte, ringHeaderBytes)
		copy(b[:52], head)
		binary.LittleEndian.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli)) // else nothing gets past it
		var h ringHeader
		if err := h.decode(b); err != nil {
			return
		}
		if !bytes.Equal(h.encode()[:56], b[:56]) || h.index >= h.rings || h.rings > maxRings {
			t.Errorf("header %x decodes to %+v", b[:56], h)
		}
	})
}

// FuzzRecord decodes slots whose checksum is right.
func FuzzRecord(f *testing.F) {
	r, err := createRing(f.TempDir(), ringHeader{epoch: 1, rings: 1, records: 256})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint64(1), uint64(2), uint64(3), uint32(4), uint64(5))
	f.Fuzz(func(t *testing.T, a, b, c uint64, d uint32, seq uint64) {
		w := [recordWords]uint64{a, b, c, uint64(d) &^ 0b1000} // but for the bit that has no meaning
		slot := r.slots[(seq&r.mask)*recordWords:][:recordWords]
		copy(slot, w[:])
		slot[3] |= uint64(checksum(&w, r.epoch, seq)) << 32
		var rec hitRecord
		if !r.read(seq, &rec) || rec.words() != w || rec.class >= numClasses || rec.device > MaxDevice {
			t.Errorf("words %x are read as %+v", w, rec)
		}
	})
}

// FuzzReplay replays a ring whose head and slots are any bytes: it must end, and take no more than the slots.
func FuzzReplay(f *testing.F) {
	f.Add(uint64(3), uint64(0), []byte("slots"))
	f.Add(^uint64(0), uint64(5), []byte{})
	r, err := createRing(f.TempDir(), ringHeader{epoch: 1, rings: 1, records: 256})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, head, position uint64, slots []byte) {
		r.head.Store(head)
		clear(r.mapping[ringHeaderBytes:])
		copy(r.mapping[ringHeaderBytes:], slots)
		var res replayResult
		r.replay(position, &res, func(*hitRecord) {})
		if res.records+res.invalid > 2*r.size {
			t.Errorf("replay counts %d slots of %d", res.records+res.invalid, r.size)
		}
	})
}
