package wire

import (
	"bytes"
	"slices"
	"testing"

	"shunt/api/wire/http1"
)

func TestAMemoIsOfOneReadOnly(t *testing.T) {
	var memos [][2]uint64
	g := &Group{Reader: http1.NewReader(&http1.Proxies{}, nil), Plain: func(out []byte, r *http1.Plain) []byte {
		memos = append(memos, r.Memo)
		r.Memo[0]++
		return append(out, 'a')
	}}
	a := answers{g: g, maxRequests: 100}
	raw := []byte(requestText("GET", "/x"))
	for range 2 {
		if used, follows := a.answer(bytes.Repeat(raw, 3), new(row), nil); used != 3*len(raw) || follows != nothing {
			t.Fatalf("got %d, %v, want all", used, follows)
		}
	}
	if want := [][2]uint64{{0}, {1}, {2}, {0}, {1}, {2}}; !slices.Equal(memos, want) {
		t.Errorf("got %v, want %v", memos, want)
	}
}
