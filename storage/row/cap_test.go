package row

import (
	"bytes"
	"encoding/hex"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestACapIsReadAsItWasWritten(t *testing.T) {
	for golden, want := range map[string]engine.Cap{
		"010103ac02":      {Generation: 3, Used: 300, Open: true},
		"01008001" + "00": {Generation: 128},
	} {
		key, v := AppendCapKey(nil, 7), AppendCap(nil, &want)
		expect.Equal(t, hex.EncodeToString(v), golden, "the bytes of %+v", want)
		id, got, err := ReadCap(key, v)
		expect.That(t, err == nil && id == 7 && got == want, "got link %d, %+v, %v, want link 7, %+v", id, got, err, want)
		for cut := range v {
			_, c, err := ReadCap(key, v[:cut])
			expect.That(t, err != nil, "%d of %d bytes are read as %+v", cut, len(v), c)
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
		again := AppendCap(nil, &c)
		expect.That(t, bytes.Equal(again, v), "%x is read and written as %x", v, again)
	})
}
