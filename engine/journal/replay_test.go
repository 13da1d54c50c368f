package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

// replayedIDs replays a journal into a list of link ids.
func replayedIDs(t *testing.T, dir string, id [16]byte, p Positions) (ids []uint64, res Replayed) {
	t.Helper()
	in := Folder{path: dir, storeID: id}
	res, err := in.Replay(p, func(_ []uint64, r *Record) error {
		ids = append(ids, r.LinkID)
		return nil
	})
	expect.OK(t, err)
	expect.That(t, uint64(len(ids)) == res.Records, "%d records are counted as %d", len(ids), res.Records)
	return ids, res
}

func TestReplayTakesOnlyRecordsThatTheStoreDoesNotContain(t *testing.T) {
	dir, id := t.TempDir(), [16]byte{}
	j, err := createAllRings(Folder{path: dir, storeID: id}, Spec{Epoch: 3, Rings: 1, Records: 256})
	expect.OK(t, err)
	r := j.Rings[0]
	for i := range uint64(700) {
		w := record(i).words()
		r.limit.Store(i + 1) // every slot was freed, as under a stall
		r.Append(&w)
	}
	r.slot(690)[0].Add(1) // a torn record
	expect.OK(t, j.Close())
	for name, c := range map[string]struct{ position, first, records, invalid, lost uint64 }{
		"nothing is in the store":             {position: 0, first: 444, records: 255, invalid: 1, lost: 444},
		"the first lap is partly in it":       {position: 100, first: 444, records: 255, invalid: 1, lost: 344},
		"parts of two laps are left":          {position: 300, first: 444, records: 255, invalid: 1, lost: 144},
		"most is in the store":                {position: 680, first: 680, records: 19, invalid: 1},
		"everything is in the store":          {position: 700},
		"the store is ahead of a file's head": {position: 900},
	} {
		t.Run(name, func(t *testing.T) {
			got, res := replayedIDs(t, dir, id, Positions{Epoch: 3, Rings: []uint64{c.position, 0}})
			if res.Records != c.records || res.Invalid != c.invalid || res.Lost != c.lost || (c.records > 0 && got[0] != c.first) {
				t.Errorf("%+v from %v, want %+v", res, got[:min(1, len(got))], c)
			}
		})
	}
}

func TestReplayContinuesAfterTheRecordsThatWerePassed(t *testing.T) {
	dir, id := t.TempDir(), [16]byte{}
	j, err := createAllRings(Folder{path: dir, storeID: id}, Spec{Epoch: 3, Rings: 2, Records: 256})
	expect.OK(t, err)
	for i := range uint64(600) {
		w, r := record(i).words(), j.Rings[i%2]
		r.limit.Store(1 << 20)
		r.Append(&w) // 300 each
	}
	expect.OK(t, j.Close())
	seen, at := make(map[uint64]int), Positions{Epoch: 3, Rings: []uint64{0, 0, 0, 0}}
	stop := errors.New("crash")
	for crashed := true; crashed; {
		n, next := 0, at
		in := Folder{path: dir, storeID: id}
		_, err := in.Replay(at, func(passed []uint64, r *Record) error {
			if n == 100 { // commits the passed records, and crashes
				next.Rings = slices.Clone(passed)
				return stop
			}
			seen[r.LinkID]++
			n++
			return nil
		})
		at, crashed = next, errors.Is(err, stop)
	}
	for id, n := range seen {
		expect.MustThat(t, n == 1 && id >= 88, "record %d was taken %d times", id, n)
	}
	expect.Equal(t, len(seen), 512, "records")
}

// TestReplayRejectsRecordsOfOtherLapsAndEpochs puts records of another lap or epoch into slots:
// replay must take none.
func TestReplayRejectsRecordsOfOtherLapsAndEpochs(t *testing.T) {
	for name, forge := range map[string]func(seq uint64) (epoch, as uint64){
		"of the lap before":   func(seq uint64) (uint64, uint64) { return 3, seq - 256 },
		"of the lap after":    func(seq uint64) (uint64, uint64) { return 3, seq + 256 },
		"of the epoch before": func(seq uint64) (uint64, uint64) { return 2, seq },
		"of another history":  func(seq uint64) (uint64, uint64) { return 3<<32 | 7, seq },
	} {
		t.Run(name, func(t *testing.T) {
			dir, id := t.TempDir(), [16]byte{}
			j, err := createAllRings(Folder{path: dir, storeID: id}, Spec{Epoch: 3, Rings: 1, Records: 256})
			expect.OK(t, err)
			r := j.Rings[0]
			r.head.Store(1000)
			for seq := uint64(900); seq < 1000; seq++ {
				w := record(seq).words()
				epoch, as := uint64(3), seq
				if seq%2 == 0 {
					epoch, as = forge(seq)
				}
				sum := uint64(checksum(&w, epoch, as))
				r.Store(seq, w[0], w[1], w[2], w[3]|sum<<checksumShift)
			}
			expect.OK(t, j.Close())
			got, res := replayedIDs(t, dir, id, Positions{Epoch: 3, Rings: []uint64{900, 0}})
			expect.That(t, len(got) == 50 && got[0] == 901 && res.Invalid == 50 && res.Lost == 0, "%d records, %+v, want the 50 that are in place", len(got), res)
		})
	}
}

func TestADamagedHeadLosesNoRecord(t *testing.T) {
	for _, head := range []uint64{0, 19, 21, 300, 1 << 40, ^uint64(0)} {
		dir, id := t.TempDir(), [16]byte{}
		j, err := createAllRings(Folder{path: dir, storeID: id}, Spec{Epoch: 1, Rings: 1, Records: 256})
		expect.OK(t, err)
		for i := range uint64(20) {
			w := record(i).words()
			j.Rings[0].Append(&w)
		}
		j.Rings[0].head.Store(head)
		expect.OK(t, j.Close())
		got, res := replayedIDs(t, dir, id, Positions{Epoch: 1, Rings: []uint64{5, 0}})
		expect.That(t, len(got) == 15 && res.Lost == 0, "head %d: %d records, %+v, want 15", head, len(got), res)
	}
}

func TestUnreadableJournalFilesAreSkippedAndReported(t *testing.T) {
	id := [16]byte{1}
	truncate := func(size int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { expect.OK(t, os.Truncate(path, size)) }
	}
	cases := map[string]struct {
		spoil func(t *testing.T, path string)
		kept  int // of the file's 10 records
	}{
		"missing":                     {spoil: func(t *testing.T, path string) { expect.OK(t, os.Remove(path)) }},
		"truncated after four":        {spoil: truncate(ringHeaderBytes + 4*slotBytes + 7), kept: 4},
		"longer than its header says": {spoil: truncate(20000), kept: 10},
		"cut in its header":           {spoil: truncate(40)},
		"empty":                       {spoil: truncate(0)},
		"of another kind":             {spoil: func(t *testing.T, path string) { expect.OK(t, os.WriteFile(path, make([]byte, 20000), 0o600)) }},
		"of another epoch":            {spoil: func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.epoch++ }) }},
		"of another store":            {spoil: func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.storeID[0]++ }) }},
		"of another ring":             {spoil: func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.index++ }) }},
		"of impossible size":          {spoil: func(t *testing.T, path string) { patchHeader(t, path, func(h *ringHeader) { h.records = 257 }) }},
		"a folder": {spoil: func(t *testing.T, path string) {
			expect.OK(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700)))
		}},
		"a pipe": {spoil: func(t *testing.T, path string) {
			expect.OK(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j, err := createAllRings(Folder{path: dir, storeID: id}, Spec{Epoch: 1, Rings: 2, Records: 256})
			expect.OK(t, err)
			for i := range uint64(20) {
				w := record(i).words()
				j.Rings[i%2].Append(&w)
			}
			expect.OK(t, j.Close())
			path := filepath.Join(dir, ringName(id, 1, 0))
			c.spoil(t, path)
			got, res := replayedIDs(t, dir, id, Positions{Epoch: 1, Rings: []uint64{0, 0, 0, 0}})
			expect.That(t, len(got) == 10+c.kept && len(res.Faults) == 1 && strings.Contains(res.Faults[0].Error(), path),
				"%d records, %v; want %d, and an error that names the file", len(got), res.Faults, 10+c.kept)
		})
	}
}

func TestAReadOnlyJournalFileIsReplayed(t *testing.T) {
	dir := t.TempDir()
	j, err := createAllRings(Folder{path: dir}, Spec{Epoch: 1, Rings: 1, Records: 256})
	expect.OK(t, err)
	w := record(7).words()
	j.Rings[0].Append(&w)
	expect.OK(t, j.Close())
	path := filepath.Join(dir, ringName([16]byte{}, 1, 0))
	expect.OK(t, os.Chmod(path, 0o400))
	immutable(t, path) // for root, which ignores modes
	got, res := replayedIDs(t, dir, [16]byte{}, Positions{Epoch: 1, Rings: []uint64{0, 0}})
	expect.That(t, len(got) == 1 && res.Faults == nil, "%d records, %v", len(got), res.Faults)
}

func TestANewerJournalFormatIsAnError(t *testing.T) {
	dir := t.TempDir()
	j, err := createAllRings(Folder{path: dir}, Spec{Epoch: 1, Rings: 1, Records: 256})
	expect.OK(t, err)
	expect.OK(t, j.Close())
	path := filepath.Join(dir, ringName([16]byte{}, 1, 0))
	b, err := os.ReadFile(path)
	expect.OK(t, err)
	b[8] = ringFormat + 1
	binary.LittleEndian.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli))
	expect.OK(t, os.WriteFile(path, b, 0o600))
	in := Folder{path: dir}
	_, err = in.Replay(Positions{Epoch: 1, Rings: []uint64{0, 0}}, nil)
	expect.That(t, err != nil && strings.Contains(err.Error(), "newer format") && strings.Contains(err.Error(), path),
		"got %v, want an error that names the newer format and the file", err)
}

func patchHeader(t *testing.T, path string, patch func(*ringHeader)) {
	t.Helper()
	b, err := os.ReadFile(path)
	expect.OK(t, err)
	var h ringHeader
	expect.OK(t, h.decode(b))
	h.rings += 2 // so that the index of another ring is valid
	patch(&h)
	copy(b, h.encode()[:56])
	expect.OK(t, os.WriteFile(path, b, 0o600))
}

// FuzzReplayedRecords writes some records beyond a position, leaves others out, keeps older ones,
// and sets any head: exactly the written ones come back, in their order.
func FuzzReplayedRecords(f *testing.F) {
	f.Add(uint64(0), uint64(6), []byte{1, 3, 5, 0, 2, 7})
	f.Add(uint64(1000), uint64(0), bytes.Repeat([]byte{9, 0, 4, 255}, 64))
	f.Add(uint64(1000), uint64(5000), []byte{1, 2, 3})
	h := ringHeader{epoch: 1, rings: 1, records: 256}
	path := filepath.Join(f.TempDir(), "ring")
	f.Fuzz(func(t *testing.T, position, head uint64, plan []byte) {
		if position > 1<<60 || len(plan) > int(h.records) {
			return
		}
		b := make([]byte, h.fileBytes())
		copy(b, h.encode())
		binary.LittleEndian.PutUint64(b[ringHeadOffset:], head)
		var want []uint64
		wantNext := position
		for i, id := range plan {
			switch seq := position + uint64(i); {
			case id%2 == 1:
				putRecord(b, h, seq, uint64(id))
				want, wantNext = append(want, uint64(id)), seq+1
			case id > 0 && seq >= uint64(h.records):
				putRecord(b, h, seq-uint64(h.records), uint64(id))
			}
		}
		expect.OK(t, os.WriteFile(path, b, 0o600))
		r, err := openOldRing(path, h)
		expect.OK(t, err)
		var got []uint64
		var res Replayed
		next := position
		expect.OK(t, errors.Join(r.replay(&next, &res, func(r *Record) error { got = append(got, r.LinkID); return nil }), r.file.Close()))
		expect.That(t, slices.Equal(got, want) && res.Records == uint64(len(want)) && res.Lost == 0, "got %d, %+v; want %d", got, res, want)
		expect.Equal(t, next, wantNext, "it continues at")
	})
}

// putRecord writes a record into b, the content of a ring file.
func putRecord(b []byte, h ringHeader, seq, linkID uint64) {
	w := (&Record{LinkID: linkID}).words()
	w[recordWords-1] |= uint64(checksum(&w, h.epoch, seq)) << 32
	slot := b[ringHeaderBytes+seq%uint64(h.records)*slotBytes:]
	for i, word := range w {
		binary.LittleEndian.PutUint64(slot[8*i:], word)
	}
}

// FuzzReplay replays a ring whose head and slots are any bytes: replay must end, and count no more
// than the slots.
func FuzzReplay(f *testing.F) {
	f.Add(uint64(3), uint64(0), []byte("slots"))
	f.Add(^uint64(0), uint64(5), []byte{})
	f.Add(uint64(1000), ^uint64(0)-3, []byte{})
	h := ringHeader{epoch: 1, rings: 1, records: 256}
	path := filepath.Join(f.TempDir(), "ring")
	f.Fuzz(func(t *testing.T, head, position uint64, slots []byte) {
		b := make([]byte, h.fileBytes())
		copy(b, h.encode())
		binary.LittleEndian.PutUint64(b[ringHeadOffset:], head)
		copy(b[ringHeaderBytes:], slots)
		expect.OK(t, os.WriteFile(path, b, 0o600))
		r, err := openOldRing(path, h)
		expect.OK(t, err)
		var res Replayed
		expect.OK(t, errors.Join(r.replay(&position, &res, func(*Record) error { return nil }), r.file.Close()))
		expect.That(t, res.Records+res.Invalid <= 2*r.size, "replay counts %d slots of %d", res.Records+res.Invalid, r.size)
	})
}

// TestAnEmptySlotIsNoRecord has the sequence number for which zeros have the checksum of zeros.
func TestAnEmptySlotIsNoRecord(t *testing.T) {
	const seq = 1488815519
	empty := Words{}
	expect.MustThat(t, empty.prove(1, seq), "zeros have another checksum: the test shows nothing")
	var rec Record
	expect.That(t, !rec.unpackIf(&empty, 1, seq), "an empty slot is taken for the record %+v", rec)
}

// TestARecordOfTheLapBeforeIsNotReplayedByChance has a record whose checksum is the same one lap later.
func TestARecordOfTheLapBeforeIsNotReplayedByChance(t *testing.T) {
	r := oldRing{epoch: 1, size: 64, head: 6}
	w := Words{7, 11406172685, 5 | 490000<<32, 0}
	w[3] |= uint64(checksum(&w, 1, 5)) << checksumShift
	for i, word := range w {
		binary.LittleEndian.PutUint64(r.chunk[5*slotBytes+8*i:], word)
	}
	expect.MustThat(t, w.prove(1, 5+64), "the checksum of the next lap is another: the test shows nothing")
	var rec Record
	expect.That(t, r.read(5, &rec) && rec.LinkID == 7, "the record itself is not read")
	expect.That(t, !r.read(5+64, &rec), "it is read again as that of the next lap")
}
