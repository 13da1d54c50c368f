package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

var checkedID = [16]byte{0xab, 1}

const (
	checkedEpoch = 5
	checkedSlots = 256
)

// leftJournal makes a journal of two rings as a killed process leaves it. Ring 0 is on its third
// lap, of which 100 records wait; ring 1 is on its first, of which 10 wait.
func leftJournal(t *testing.T) (dir string, p Positions) {
	t.Helper()
	dir = t.TempDir()
	in := Folder{path: dir, storeID: checkedID}
	j, err := Create(in, Spec{Epoch: checkedEpoch, Rings: 2, Records: checkedSlots, Now: time.Now})
	expect.OK(t, err)
	number := j.Referrers.Number([]byte("a.example"))
	fill := func(r *Ring, records uint64) {
		for i := range records {
			rec := record(i)
			rec.Referrer = number
			w := rec.words()
			r.limit.Store(i + 1)
			r.Append(&w)
		}
	}
	fill(j.Rings[0], 2*checkedSlots+100)
	fill(j.Rings[1], 50)
	expect.OK(t, j.Close())
	return dir, Positions{Epoch: checkedEpoch, Rings: []uint64{2 * checkedSlots, 40, 0, 0}}
}

// foundFaults collects faults, one a line.
type foundFaults string

func (f *foundFaults) AddFile(path, format string, args ...any) {
	*f += foundFaults(fmt.Sprintf("%s: %s\n", filepath.Base(path), fmt.Sprintf(format, args...)))
}

func checkLeft(t *testing.T, dir string, p Positions) (Report, string) {
	t.Helper()
	in, found := Folder{path: dir, storeID: checkedID}, foundFaults("")
	report, err := in.Check(p, false, &found)
	expect.OK(t, err)
	return report, string(found)
}

// change applies change to the content of a journal file.
func change(t *testing.T, dir, name string, change func(b []byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	expect.OK(t, err)
}

// slotAt returns the bytes of a slot.
func slotAt(file []byte, slot int) []byte {
	return file[ringHeaderBytes+slot*recordWords*8:][:recordWords*8]
}

func TestSlotsTornByACrashAreCountedButAreNotFaults(t *testing.T) {
	ring0, ring1 := ringName(checkedID, checkedEpoch, 0), ringName(checkedID, checkedEpoch, 1)
	healthy := Report{Files: 3, Waiting: 110, Referrers: 1}
	torn := func(waiting, torn uint64) Report {
		r := healthy
		r.Waiting, r.Torn = waiting, torn
		return r
	}
	for name, c := range map[string]struct {
		file   string
		change func(b []byte) []byte
		want   Report
	}{
		"no damage": {ring0, func(b []byte) []byte { return b }, healthy},
		"a page of an earlier lap that was not written back": {ring0, func(b []byte) []byte {
			for slot := range 20 {
				w := record(uint64(slot)).words()
				w[3] |= uint64(checksum(&w, checkedEpoch, uint64(checkedSlots+slot))) << 32
				for i := range w {
					binary.LittleEndian.PutUint64(slotAt(b, slot)[8*i:], w[i])
				}
			}
			return b
		}, torn(90, 20)},
		"slots that were never written": {ring1, func(b []byte) []byte {
			clear(slotAt(b, 41))
			clear(slotAt(b, 42))
			return b
		}, torn(108, 2)},
		"a writer that was stopped on the first lap": {ring1, func(b []byte) []byte {
			clear(slotAt(b, 45)[24:])
			return b
		}, torn(109, 1)},
		"a writer that was stopped on a later lap": {ring0, func(b []byte) []byte {
			slotAt(b, 50)[3]++
			return b
		}, torn(109, 1)},
		"a head that was not written back": {ring1, func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[ringHeadOffset:], 3)
			return b
		}, healthy},
	} {
		t.Run(name, func(t *testing.T) {
			dir, p := leftJournal(t)
			change(t, dir, c.file, c.change)
			report, found := checkLeft(t, dir, p)
			expect.That(t, report == c.want && found == "", "got %+v and faults %q\nwant %+v", report, found, c.want)
		})
	}
}

func TestAnInterruptedStartIsNotAFaultOfTheJournal(t *testing.T) {
	dir, p := leftJournal(t)
	p.Rings = []uint64{0, 0, 0, 0}
	ring1 := ringName(checkedID, checkedEpoch, 1)
	change(t, dir, ringName(checkedID, checkedEpoch, 0), func(b []byte) []byte {
		binary.LittleEndian.PutUint64(b[ringHeadOffset:], 0)
		return b[:ringHeaderBytes+100]
	})
	expect.OK(t, os.Remove(filepath.Join(dir, ring1)))
	change(t, dir, referrersName(checkedID, checkedEpoch), func(b []byte) []byte { return b[:10] })
	report, found := checkLeft(t, dir, p)
	expect.That(t, report == (Report{Unfinished: 3}) && found == "", "got %+v and faults %q", report, found)
	if report, found := checkLeft(t, filepath.Join(dir, "none"), Positions{}); report != (Report{}) || found != "" {
		t.Errorf("without a folder: got %+v and faults %q", report, found)
	}
}

func TestEachFaultOfAJournalIsFound(t *testing.T) {
	ring0, ring1 := ringName(checkedID, checkedEpoch, 0), ringName(checkedID, checkedEpoch, 1)
	dictionary := referrersName(checkedID, checkedEpoch)
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b[at] ^= 4
			return b
		}
	}
	for name, c := range map[string]struct {
		file   string
		change func(b []byte) []byte
		want   string
	}{
		"a header with a flipped bit":    {ring0, flip(35), "damaged header"},
		"a magic with a flipped bit":     {ring0, flip(0), "not a journal file"},
		"a truncated ring":               {ring0, func(b []byte) []byte { return b[:len(b)-1] }, "truncated"},
		"a ring that ends in its header": {ring0, func(b []byte) []byte { return b[:80] }, "not a journal file"},
		"a ring of another epoch":        {ring0, header(func(h *ringHeader) { h.epoch++ }), "not a journal file"},
		"a ring of another store":        {ring0, header(func(h *ringHeader) { h.storeID[9]++ }), "not a journal file"},
		"another ring":                   {ring0, header(func(h *ringHeader) { h.index = 1 }), "not a journal file"},
		"a ring of another ring count":   {ring0, header(func(h *ringHeader) { h.rings = 8 }), "not a journal file"},
		"a record with a flipped bit":    {ring1, flip(ringHeaderBytes + 45*32 + 3), "1 record was whole and is damaged, the first with sequence number 45"},
		"more torn slots than writers": {ring0, func(b []byte) []byte {
			for slot := range maxCutWriters + 1 {
				slotAt(b, slot)[0]++
			}
			return b
		}, "65 slots fail their checksum"},
		"a damaged head":                {ring0, flip(ringHeadOffset + 5), "slots fail their checksum"},
		"a dictionary of another store": {dictionary, flip(20), "not the dictionary"},
		"a truncated dictionary":        {dictionary, func(b []byte) []byte { return b[:1000] }, "EOF"},
		"a file with a foreign name":    {ring0 + "x", nil, "this is not the name of a journal file"},
		"a ring too many":               {ringName(checkedID, checkedEpoch, 2), nil, "the store knows 2 rings only"},
		"a ring of a later epoch":       {ringName(checkedID, checkedEpoch+1, 0), nil, "has only come to 5"},
		"a missing ring":                {ring0, func([]byte) []byte { return nil }, "it is missing"},
		"a missing dictionary":          {dictionary, func([]byte) []byte { return nil }, "it is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, p := leftJournal(t)
			if c.change == nil {
				expect.OK(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
			} else if change(t, dir, c.file, c.change); c.change([]byte(strings.Repeat("x", ringHeaderBytes+checkedSlots*32))) == nil {
				expect.OK(t, os.Remove(filepath.Join(dir, c.file)))
			}
			_, found := checkLeft(t, dir, p)
			expect.That(t, strings.Contains(found, c.want) && strings.HasPrefix(found, c.file), "got %q, want %q", found, c.want)
		})
	}
}

// header returns a change that rewrites the constant part of a header, with the right checksum.
func header(edit func(*ringHeader)) func([]byte) []byte {
	return func(b []byte) []byte {
		h := ringHeader{storeID: checkedID, epoch: checkedEpoch, rings: 4, records: checkedSlots}
		edit(&h)
		copy(b, h.encode()[:56])
		return b
	}
}

func TestOtherHistoriesKeepTheirFilesAndAreNotReplayed(t *testing.T) {
	dir, p := leftJournal(t)
	restored := Positions{Epoch: OtherHistory(p.Epoch)}
	expect.That(t, !sameHistory(restored.Epoch, p.Epoch), "got %+v of %+v", restored, p)
	again := OtherHistory(restored.Epoch)
	expect.That(t, !sameHistory(again, restored.Epoch), "a restore of a restored store: got epoch %d of %+v", again, restored)
	in := Folder{path: dir, storeID: checkedID}
	report, err := in.Replay(restored, func([]uint64, *Record) error { return errors.New("a record was replayed") })
	expect.That(t, err == nil && report.Records+report.Invalid+report.Lost+uint64(len(report.Faults)) == 0, "got %+v, %v", report, err)
	expect.NoError(t, in.RemoveBefore(NextEpoch(restored.Epoch)))
	if report, found := checkLeft(t, dir, p); report.Files != 3 || found != "" {
		t.Errorf("the restored store has touched the original's files: %+v, faults %q", report, found)
	}
	restored.Epoch++
	restored.Rings = []uint64{0, 0}
	if report, found := checkLeft(t, dir, restored); report.Old != 3 || found != "" {
		t.Errorf("got %+v and faults %q", report, found)
	}
	expect.NoError(t, in.RemoveBefore(NextEpoch(p.Epoch)))
	left, err := os.ReadDir(dir)
	expect.That(t, err == nil && len(left) == 0, "of its own history: %d files are left, %v", len(left), err)
}
