package row

import (
	"bytes"
	"testing"

	"shunt/engine/expect"
)

func TestPayloadsAreAsPinned(t *testing.T) {
	for want, p := range map[string]Payload{
		"\x01\x00abc": {Version: 1, Part: []byte("abc")},
		"\x01\x01":    {Version: 1, First: true},
		"\x01\x02a":   {Version: 1, Last: true, Part: []byte("a")},
		"\x01\x03a":   {Version: 1, First: true, Last: true, Part: []byte("a")},
	} {
		if got := AppendPayload(nil, &p); string(got) != want {
			t.Errorf("%+v: got %x, want %x", p, got, want)
		}
		got, err := DecodePayload([]byte(want))
		expect.That(t, err == nil && got.Version == p.Version && got.First == p.First && got.Last == p.Last && bytes.Equal(got.Part, p.Part),
			"%x: got %+v, %v, want %+v", want, got, err, p)
	}
}

func TestOnlyTheVersionOfANewerPayloadIsRead(t *testing.T) {
	got, err := DecodePayload([]byte{NewestPayload + 1, 0xff, 1, 2})
	expect.That(t, err == nil && got.Version == NewestPayload+1 && got.Part == nil, "got %+v, %v", got, err)
	for _, b := range []string{"", "\x01", "\x00\x03", "\x01\x04", "\x01\xff"} {
		expect.Error(t, expect.Err(DecodePayload([]byte(b))), ErrCorrupt, "%x", b)
	}
}
