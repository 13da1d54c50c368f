package row

import (
	"bytes"
	"encoding/hex"
	"testing"

	"shunt/engine"
)

func TestACapIsReadAsItWasWritten(t *testing.T) {
	for golden, want := range map[string]engine.Cap{
		"010103ac02":      {Generation: 3, Used: 300, Open: true},
		"01008001" + "00": {Generation: 128},
	} {
		key, v := AppendCapKey(nil, 7), AppendCap(nil, &want)
		if got := hex.EncodeToString(v); got != golden {
			t.Errorf("the bytes of %+v are %s, want %s", want, got, golden)
		}
		if id, got, err := ReadCap(key, v); err != nil || id != 7 || got != want {
			t.Errorf("got link %d, %+v, %v, want link 7, %+v", id, got, err, want)
		}
		for cut := range v {
			if _, c, err := ReadCap(key, v[:cut]); err == nil {
				t.Errorf("%d of %d bytes are read as %+v", cut, len(v), c)
			}
		}
	}
}

func FuzzCap(f *testing.F) {
	f.Add(AppendCap(nil, &engine.Cap{Generation: 3, Used: 300, Open: true}))
	f.Add([]byte{1, 0, 1, 0})
	key := AppendCapKey(nil, 7)
	f.Fuzz(func(t *testing.T, v []byte) {
		_, c, err := ReadCap(key, v)
		if err != nil {
			return
		}
		if again := AppendCap(nil, &c); !bytes.Equal(again, v) {
			t.Errorf("%x is read and written as %x", v, again)
		}
	})
}
