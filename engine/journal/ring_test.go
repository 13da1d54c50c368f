package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"sync"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/tally"
)

func testRing(t *testing.T, records int) *Ring {
	t.Helper()
	r, err := createRing(new(Disk), t.TempDir(), ringHeader{epoch: 7, rings: 1, records: uint32(records)}, false)
	expect.OK(t, err)
	t.Cleanup(func() { _ = r.close() })
	return r
}

func record(i uint64) *Record {
	return &Record{LinkID: i, Target: uint8(i), Visitor: i * 3, Owner: uint32(i), Hour: 495000, Class: tally.ClassBot, Values: tally.Values{Agent: tally.AgentOf(5, 0), Country: 49, Referrer: 513}}
}

func TestJournalRecordsHaveTheDocumentedBytes(t *testing.T) {
	r := testRing(t, 256)
	w := (&Record{
		LinkID: 0x030405060708, Target: 0x02, Visitor: 0x1112131415161718, Owner: 0x21222324, Hour: 0x313233,
		Class: tally.ClassHead, Counted: true, Values: tally.Values{Agent: tally.AgentOf(0x5, 0x71), Country: 0x41, Referrer: 0x6162},
	}).words()
	expect.MustThat(t, r.Append(&w), "append to an empty ring failed")
	b := make([]byte, 32)
	copy(b, r.mapping[ringHeaderBytes:])
	const want = "0807060504030200" + "1817161514131211" + "24232221" + "333231" + "41" + "5771" + "6261" + "ecdce6b5"
	expect.Equal(t, hex.EncodeToString(b), want)
}

func TestJournalHeadersHaveTheDocumentedBytes(t *testing.T) {
	h := ringHeader{epoch: 0x0102, index: 3, rings: 8, records: 1024}
	copy(h.storeID[:], "0123456789abcdef")
	b := h.encode()
	const want = "7368756e746a6e00" + "0100000000000000" + "30313233343536373839616263646566" + "0201000000000000" +
		"03000000" + "08000000" + "00040000" + "381c1893"
	expect.Equal(t, hex.EncodeToString(b[:56]), want)
	expect.That(t, len(b) == ringHeaderBytes && bytes.Equal(b[56:], make([]byte, ringHeaderBytes-56)), "the rest of the header is not zero")
	var back ringHeader
	err := back.decode(b)
	expect.That(t, err == nil && back == h, "decoded %+v, %v, want %+v", back, err, h)
}

func TestAFullRingTakesNothingUntilItIsFreed(t *testing.T) {
	r := testRing(t, 256)
	w := record(1).words()
	for i := range 256 {
		expect.MustThat(t, r.Append(&w), "append %d failed", i)
	}
	expect.MustThat(t, !r.Append(&w), "a full ring took a record")
	expect.Equal(t, r.Fill(), 256, "fill")
	r.limit.Add(1)
	expect.That(t, r.Append(&w) && !r.Append(&w), "one freed slot did not take exactly one record")
}

func TestASlotIsReadOnlyAsItsOwnSequenceNumber(t *testing.T) {
	r := testRing(t, 256)
	var rec Record
	expect.That(t, !r.read(0, &rec), "a slot that was never written is taken for a record")
	w := record(42).words()
	r.Append(&w)
	if !r.read(0, &rec) || rec != *record(42) {
		t.Errorf("read %+v, want %+v", rec, *record(42))
	}
	expect.That(t, !r.read(256, &rec), "a record of the last lap is taken for one of this lap")
	r.epoch++
	expect.That(t, !r.read(0, &rec), "a record of another epoch is taken for one of this epoch")
}

func TestAnyFlippedBitMakesARecordInvalid(t *testing.T) {
	r := testRing(t, 256)
	w := record(42).words()
	r.Append(&w)
	var rec Record
	for bit := range 256 {
		word := &r.slots[bit/64]
		was := word.Load()
		word.Store(was ^ 1<<(bit%64))
		expect.That(t, !r.read(0, &rec), "the record is accepted with bit %d flipped", bit)
		word.Store(was)
	}
	expect.That(t, r.read(0, &rec), "the record is refused after all bits were put back")
}

func TestRacingWritersLoseNoRecord(t *testing.T) {
	const writers, each = 8, 2000
	r := testRing(t, 256)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range each {
				w := record(uint64(g*each + i)).words()
				for !r.Append(&w) {
				}
			}
		})
	}
	seen := make(map[uint64]bool)
	var rec Record
	for seq := uint64(0); seq < writers*each; {
		if !r.read(seq, &rec) {
			continue
		}
		expect.MustThat(t, rec == *record(rec.LinkID) && !seen[rec.LinkID], "record %d: %+v is torn or repeated", seq, rec)
		seen[rec.LinkID] = true
		seq++
		r.limit.Store(seq + r.size)
	}
	wg.Wait()
}

func FuzzRingHeader(f *testing.F) {
	for _, h := range []ringHeader{{epoch: 1, rings: 8, records: 1024}, {epoch: 1, rings: 8, index: 9, records: 1024}} {
		f.Add(h.encode()[:52])
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		b := make([]byte, ringHeaderBytes)
		copy(b[:52], head)
		binary.LittleEndian.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli)) // otherwise no input passes the checksum
		var h ringHeader
		if err := h.decode(b); err != nil {
			return
		}
		if !bytes.Equal(h.encode()[:56], b[:56]) || h.index >= h.rings || h.rings > 3*MaxRings {
			t.Errorf("header %x decodes to %+v", b[:56], h)
		}
	})
}

// FuzzRecord decodes slots with a right checksum.
func FuzzRecord(f *testing.F) {
	r, err := createRing(new(Disk), f.TempDir(), ringHeader{epoch: 1, rings: 1, records: 256}, false)
	expect.OK(f, err)
	f.Add(uint64(1), uint64(2), uint64(3), uint32(4), uint64(5))
	f.Fuzz(func(t *testing.T, a, b, c uint64, d uint32, seq uint64) {
		w := Words{a, b, c, uint64(d) &^ 0b1000} // without the void bit
		r.Store(seq, w[0], w[1], w[2], w[3]|uint64(checksum(&w, r.epoch, seq))<<checksumShift)
		var rec Record
		expect.That(t, r.read(seq, &rec) && rec.words() == w, "words %x are read as %+v", w, rec)
	})
}

func TestARingInUseIsNotReplaced(t *testing.T) {
	dir, h := t.TempDir(), ringHeader{epoch: 7, rings: 1, records: 256}
	r, err := createRing(new(Disk), dir, h, false)
	expect.OK(t, err)
	expect.Error(t, expect.Err(createRing(new(Disk), dir, h, false)), ErrInUse)
	info, err := r.file.Stat()
	expect.OK(t, err)
	expect.Equal(t, info.Size(), h.fileBytes(), "it bytes")
	expect.OK(t, r.close()) // its mapping stays, but must not keep the lock
	again, err := createRing(new(Disk), dir, h, false)
	expect.OK(t, err)
	expect.OK(t, again.close())
}

// words returns the words of the record, without its checksum.
func (r *Record) words() Words {
	v := Visit{Visitor: r.Visitor, NowMs: int64(r.Hour) * 3600_000, Kind: tally.KindOf(r.Class, r.Target), Values: r.Values}
	w := v.Words(r.LinkID, r.Owner)
	if r.Counted {
		w.SetCounted()
	}
	if r.Void {
		w[recordWords-1] |= voidBit
	}
	return w
}

func TestAVoidRecordIsReadAsOne(t *testing.T) {
	r := testRing(t, 256)
	w := Void()
	expect.MustThat(t, r.Append(&w), "append to an empty ring failed")
	var rec Record
	expect.MustThat(t, r.read(0, &rec) && rec.Void, "read %+v, want a void record", rec)
}
