package loop

import (
	"bytes"
	"testing"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

func TestAMemoIsOfOneReadOnly(t *testing.T) {
	var memos [][2]uint64
	d := Door{MaxRequests: 100, Reader: http1.NewReader(&http1.Proxies{}, nil), Plain: func(out []byte, r *http1.Plain) []byte {
		memos = append(memos, r.Memo)
		r.Memo[0]++
		return append(out, 'a')
	}}
	a := NewAnswers(d)
	raw := []byte("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
	for range 2 {
		used, follows := a.answer(bytes.Repeat(raw, 3), new(conns.Row), nil)
		expect.MustThat(t, used == 3*len(raw) && follows == nothing, "got %d, %v, want all", used, follows)
	}
	expect.Slices(t, memos, [][2]uint64{{0}, {1}, {2}, {0}, {1}, {2}})
}
