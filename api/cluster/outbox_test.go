package cluster

import (
	"bytes"
	"reflect"
	"testing"

	"shunt/engine/expect"
)

func FuzzReadOutbox(f *testing.F) {
	whole := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), {}, []byte("three")}, More: true}
	f.Add(whole.AppendTo(nil))
	f.Add(whole.AppendTo(nil)[:54])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ReadOutbox(bytes.NewReader(b))
		if err != nil {
			expect.That(t, reflect.DeepEqual(o, Outbox{}) || len(o.Records) == 0, "an error with records: %+v", o)
			return
		}
		again := o.AppendTo(nil)
		expect.That(t, bytes.Equal(again, b), "%x is read and written as %x", b, again)
	})
}

func TestAnOutboxIsReadAsItWasWritten(t *testing.T) {
	want := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), []byte("two")}, More: true, Left: 3, LeftBytes: 900, Settled: 12}
	got, err := ReadOutbox(bytes.NewReader(want.AppendTo(nil)))
	expect.That(t, err == nil && reflect.DeepEqual(got, want), "got %+v, %v, want %+v", got, err, want)
	for cut := range len(want.AppendTo(nil)) {
		if cut == outboxHeadBytes || cut == outboxHeadBytes+4+3 {
			continue // whole records
		}
		expect.That(t, expect.Err(ReadOutbox(bytes.NewReader(want.AppendTo(nil)[:cut]))) != nil, "an answer of %d bytes is read", cut)
	}
}
