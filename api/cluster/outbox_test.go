package cluster

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzReadOutbox(f *testing.F) {
	whole := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), {}, []byte("three")}, More: true}
	f.Add(whole.AppendTo(nil))
	f.Add(whole.AppendTo(nil)[:54])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ReadOutbox(bytes.NewReader(b))
		if err != nil {
			if !reflect.DeepEqual(o, Outbox{}) && len(o.Records) > 0 {
				t.Errorf("an error with records: %+v", o)
			}
			return
		}
		if again := o.AppendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("%x is read and written as %x", b, again)
		}
	})
}

func TestAnOutboxIsReadAsItWasWritten(t *testing.T) {
	want := Outbox{ID: [16]byte{1, 2}, First: 7, Records: [][]byte{[]byte("one"), []byte("two")}, More: true, Left: 3, LeftBytes: 900, Settled: 12}
	got, err := ReadOutbox(bytes.NewReader(want.AppendTo(nil)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for cut := range len(want.AppendTo(nil)) {
		if cut == outboxHeadBytes || cut == outboxHeadBytes+4+3 {
			continue // whole records
		}
		if _, err := ReadOutbox(bytes.NewReader(want.AppendTo(nil)[:cut])); err == nil {
			t.Errorf("an answer of %d bytes is read", cut)
		}
	}
}
