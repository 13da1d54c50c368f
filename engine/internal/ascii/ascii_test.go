package ascii

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// allowed are the bytes that RFC 3986 allows in an address.
const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%"

func TestAnAddressGoesOutAsRFC3986Allows(t *testing.T) {
	for name, c := range map[string]struct{ address, want string }{
		"nothing to encode":  {"https://a/b?c=d#e", "https://a/b?c=d#e"},
		"every allowed byte": {allowed, allowed},
		"empty":              {"", ""},
		"UTF-8":              {"https://a/wiki/メインページ?q=é", "https://a/wiki/%E3%83%A1%E3%82%A4%E3%83%B3%E3%83%9A%E3%83%BC%E3%82%B8?q=%C3%A9"},
		"unwise bytes":       {"http://a/|\"<>^`{}", "http://a/%7C%22%3C%3E%5E%60%7B%7D"},
		"never stored":       {"\x00\t \\\x7f\x80\xff", "%00%09%20%5C%7F%80%FF"},
		"escapes, any":       {"http://a/%25%zz%é%4|%", "http://a/%25%zz%%C3%A9%4%7C%"},
		"hashbang":           {"http://a/#!é", "http://a/#!%C3%A9"},
		"brackets and plus":  {"http://[2001:db8::1]/[a+b]", "http://[2001:db8::1]/[a+b]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Append([]byte("é"), []byte(c.address)); string(got) != "é"+c.want {
				t.Errorf("got %q, want %q", got[len("é"):], c.want)
			}
			expect.Equal(t, Bytes(c.address), len(c.want), "bytes")
		})
	}
}

// Each byte at each place of a word, because the bytes are looked at eight at a time.
func TestEachByteIsEncodedWhereverItIs(t *testing.T) {
	for c := range 256 {
		for at := range 17 {
			address := bytes.Repeat([]byte("z"), 17)
			address[at] = byte(c)
			got := Append(nil, address)
			want := string(address)
			if strings.IndexByte(allowed, byte(c)) < 0 {
				want = fmt.Sprintf("%s%%%02X%s", want[:at], c, want[at+1:])
			}
			expect.MustEqual(t, string(got), want, "byte %#x at %d: got %q", c, at, got)
		}
	}
}

// Every two neighbours, because a sum of one byte may carry into the next.
func TestEveryTwoNeighboursAreLookedAt(t *testing.T) {
	address := []byte("zzzzzzzz")
	for pair := range 1 << 16 {
		for at := range 7 {
			address[at], address[at+1] = byte(pair), byte(pair>>8)
			want := strings.IndexByte(allowed, byte(pair)) >= 0 && strings.IndexByte(allowed, byte(pair>>8)) >= 0
			expect.MustEqual(t, Sendable(address), want, "%q", address)
			address[at], address[at+1] = 'z', 'z'
		}
	}
}

func TestAnAddressIsEncodedWithoutAllocation(t *testing.T) {
	address, room := []byte("https://a.example/wiki/メインページ?q=é"), make([]byte, 0, 512)
	if n := testing.AllocsPerRun(10, func() { Append(room, address) }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}

func FuzzAppend(f *testing.F) {
	for _, address := range []string{"", "https://a/b", "https://a/é|%zz", allowed, "~~~~~~~~", "\xff\xfb\x7b\x80\x1f\x20\x21\x22"} {
		f.Add("head ", address)
	}
	f.Fuzz(func(t *testing.T, head, address string) {
		got := Append([]byte(head), []byte(address))
		sent, found := strings.CutPrefix(string(got), head)
		if !found || len(sent) != Bytes(address) {
			t.Fatalf("%q behind %q: got %q, want %d bytes", address, head, got, Bytes(address))
		}
		var want strings.Builder
		for _, c := range []byte(address) {
			if strings.IndexByte(allowed, c) >= 0 {
				want.WriteByte(c)
			} else {
				fmt.Fprintf(&want, "%%%02X", c)
			}
		}
		expect.MustEqual(t, sent, want.String(), "%q", address)
		again := Append(nil, []byte(sent))
		expect.MustThat(t, string(again) == sent, "%q changes again, to %q", sent, again)
	})
}
