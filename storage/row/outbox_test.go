package row

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

var (
	goldenOutboxHead = OutboxHead{Position: 300, MadeMs: 1_700_000_000_002, Sequence: 7}
	goldenOutboxRows = []OutboxRow{
		{TableOwnerHours, 472_222, 7, []byte{1, 1, 5}},
		{TableLinkHours, 472_222, 300, []byte{1, 1, 0x85, 1}},
		{TableLinkHours, 472_222, 301, []byte{1, 1, 5}},
		{TableLinkHours, 472_223, 1, []byte{1, 1, 5}},
		{TableLinkHours, 472_223, 0, []byte{1, 1, 5}}, // descending: allowed, though no flush makes it
	}
	goldenOutboxState = OutboxState{ID: [16]byte{1, 15: 0xff}, First: 3, Next: 5, Bytes: 200, Dropped: RecordHash{9, 7: 8}, LacksHits: true}
	goldenPulled      = Pulled{Next: 300, Last: RecordHash{7, 7: 6}}
)

func outboxOf(h OutboxHead, rows ...OutboxRow) []byte {
	var o OutboxRecord
	o.Begin(h)
	for _, r := range rows {
		o.Add(r)
	}
	return slices.Clone(o.End())
}

// outboxRows returns the rows of a record that CheckOutbox accepts.
func outboxRows(v []byte) (h OutboxHead, rows []OutboxRow, err error) {
	if h, err = CheckOutbox(v); err != nil {
		return h, nil, err
	}
	o, h, err := ReadOutbox(v)
	if err != nil {
		return h, nil, err
	}
	for o.Next() {
		rows = append(rows, o.Row())
	}
	return h, rows, o.Err()
}

func encodeOutboxAgain(v []byte) ([]byte, error) {
	h, rows, err := outboxRows(v)
	return outboxOf(h, rows...), err
}

func TestAnOutboxRecordIsReadAsItWasWritten(t *testing.T) {
	tallies := [][]byte{{1, 1, 5}, AppendTally(nil, &engine.Tally{Hits: 1, Visitors: engine.ExactSketch([]uint64{9})}), AppendTally(nil, &engine.Tally{Bots: math.MaxUint64})}
	rapid.Check(t, func(t *rapid.T) {
		h := OutboxHead{Position: rapid.Uint64Min(1).Draw(t, "position"), MadeMs: rapid.Int64Min(0).Draw(t, "made"), Sequence: rapid.Uint64().Draw(t, "sequence")}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) OutboxRow {
			r := OutboxRow{Table: TableLinkHours, Hour: rapid.Uint32Max(2).Draw(t, "hour"), ID: rapid.Uint64().Draw(t, "id"), Tally: rapid.SampledFrom(tallies).Draw(t, "tally")}
			if rapid.Bool().Draw(t, "owner") {
				r.Table, r.ID = TableOwnerHours, r.ID>>32
			}
			return r
		}), 1, 9).Draw(t, "rows")
		gotHead, got, err := outboxRows(outboxOf(h, rows...))
		expect.MustThat(t, err == nil && gotHead == h && reflect.DeepEqual(got, rows), "got %+v, %+v, %v\nwant %+v, %+v", gotHead, got, err, h, rows)
	})
}

func TestEachFlippedBitOfAnOutboxRecordIsFound(t *testing.T) {
	whole := outboxOf(goldenOutboxHead, goldenOutboxRows...)
	for bit := range 8 * len(whole) {
		flipped := slices.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		expect.Error(t, expect.Err(CheckOutbox(flipped)), ErrCorrupt, "bit %d", bit)
	}
}

func TestARecordOverTheLimitIsRefused(t *testing.T) {
	long := outboxOf(OutboxHead{Position: 1}, OutboxRow{TableLinkHours, 1, 1, make([]byte, MaxOutboxRecordBytes)})
	_, err := CheckOutbox(long)
	expect.That(t, errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), "too long"), "a record over the limit: got %v", err)
}

func TestTheHashOfARecordIsReadAsItWasWritten(t *testing.T) {
	want := HashRecord([]byte("a record"))
	var got RecordHash
	expect.OK(t, got.UnmarshalText([]byte(want.String())))
	expect.That(t, got == want && want != HashRecord(nil), "got %x, want %x", got, want)
	for _, text := range []string{"", "00", want.String() + "00", want.String()[:15] + "x"} {
		expect.Error(t, new(RecordHash).UnmarshalText([]byte(text)), ErrCorrupt, "%q", text)
	}
}

// FuzzOutboxRecord reads any bytes as a record whose checksum fits.
func FuzzOutboxRecord(f *testing.F) {
	whole := outboxOf(goldenOutboxHead, goldenOutboxRows...)
	for _, seed := range [][]byte{whole[:len(whole)-outboxSumBytes], {1, 1, 0, 0, TableLinkHours, 1, 1, 3, 1, 1, 5}, {}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		v = binary.LittleEndian.AppendUint32(slices.Clone(v), crc32.Checksum(v, castagnoli))
		again, err := encodeOutboxAgain(v)
		expect.MustThat(t, err == nil || errors.Is(err, ErrCorrupt), "%x: got %v, want ErrCorrupt", v, err)
		expect.MustThat(t, err != nil || slices.Equal(again, v), "%x was taken, and is %x again", v, again)
	})
}
