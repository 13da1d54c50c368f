package row

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"

	"shunt/engine"
)

func someCap() engine.Cap {
	return engine.Cap{Code: "abc", Generation: 3, Born: true, Open: true, Limit: 1000, Base: 300, Blocks: []engine.CapBlock{
		{Node: [16]byte{1, 2}, Session: 9, Serial: 200, Granted: 40, Used: 7}, {Node: [16]byte{3}, Session: 1},
	}}
}

func TestACapIsReadAsItWasWritten(t *testing.T) {
	want := someCap()
	v := AppendCap(nil, &want)
	const golden = "010303e807ac020361626301020000000000000000000000000000" + "09c80128070300000000000000000000000000000001000000"
	if got := hex.EncodeToString(v); got != golden {
		t.Errorf("the bytes are\n%s, want\n%s", got, golden)
	}
	got, err := DecodeCap(v)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for cut := range v {
		if c, err := DecodeCap(v[:cut]); err == nil && len(c.Blocks) > 1 {
			t.Errorf("%d of %d bytes are read as %+v", cut, len(v), c)
		}
	}
	use := engine.CapUse{Generation: 3, Hits: 300}
	if got, err := DecodeCapUse(AppendCapUse(nil, use)); err != nil || got != use {
		t.Errorf("got %+v, %v, want %+v", got, err, use)
	}
}

func FuzzCap(f *testing.F) {
	c := someCap()
	f.Add(AppendCap(nil, &c))
	f.Add([]byte{1, 0, 1, 1, 0, 1, 'a'})
	f.Fuzz(func(t *testing.T, v []byte) {
		c, err := DecodeCap(v)
		if err != nil {
			return
		}
		if again := AppendCap(nil, &c); !bytes.Equal(again, v) {
			t.Errorf("%x is read and written as %x", v, again)
		}
	})
}
