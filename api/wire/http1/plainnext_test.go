package http1

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzReadNextReadsWhatReadReads holds that it makes no difference to a request which one came before it.
func FuzzReadNextReadsWhatReadReads(f *testing.F) {
	for name, raw := range ordinary {
		f.Add([]byte(raw), []byte(otherPath(raw)), true)
		f.Add([]byte(raw), []byte(strings.Replace(otherPath(raw), "\r\n\r\n", "\r\nDNT: 1\r\n\r\n", 1)), false)
		f.Add([]byte(ordinary["curl"]), []byte(raw), name < "d")
	}
	rd := newReader()
	f.Fuzz(func(t *testing.T, first, second []byte, trusted bool) {
		peer := strangePeer
		if trusted {
			peer = trustedPeer
		}
		checkNext(t, rd, slices.Concat(first, second), peer)
	})
}

// otherPath returns an ordinary request with another method, code and query.
func otherPath(raw string) string { return strings.Replace(raw, "GET /aB3dE6gH", "HEAD /x?a=b", 1) }

func TestRequestsThatComeAtOnceAreReadAsAlone(t *testing.T) {
	rd := newReader()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Custom(drawPlain).Draw(t, "request")
		_, fields, _ := strings.Cut(raw, " HTTP/")
		all := raw
		for range rapid.IntRange(1, 4).Draw(t, "repeats") {
			all += rapid.SampledFrom([]string{"GET /a", "HEAD /b/", "GET /c?d=e", "GET /_/", "GET /f/g"}).Draw(t, "target") +
				rapid.SampledFrom([]string{" HTTP/", "  HTTP/", "?? HTTP/", "# HTTP/"}).Draw(t, "space") + fields
		}
		checkNext(t, rd, []byte(all), trustedPeer)
	})
}

// checkNext reads the requests in b one after the other with one Plain, as a door does, and fails
// unless each is read as alone. A Memo must stay exactly as long as the bytes of the fields do.
func checkNext(t failer, rd *Reader, b []byte, peer netip.Addr) {
	t.Helper()
	var r Plain
	var before []byte
	for len(b) > 0 {
		var alone Plain
		want, wantMore := rd.Read(b, peer, &alone)
		n, more := rd.ReadNext(b, peer, &r)
		if n != want || more != wantMore {
			t.Fatalf("%q: got %d, %v, want %d, %v", b, n, more, want, wantMore)
		}
		if n == 0 {
			return
		}
		comparePlain(t, &r, &alone)
		if same := bytes.Equal(before, alone.fields); same != (r.Memo != [2]uint64{}) {
			t.Fatalf("%q: same fields: %v, memo %v", b[:n], same, r.Memo)
		}
		if r.Closes {
			return
		}
		before, r.Memo, b = alone.fields, [2]uint64{1, 2}, b[n:]
	}
}

func TestReadingRepeatedFieldsAllocatesNothing(t *testing.T) {
	rd, b := newReader(), []byte(ordinary["Chrome"]+ordinary["Chrome"])
	var r Plain
	if allocations := testing.AllocsPerRun(100, func() {
		n, _ := rd.Read(b, trustedPeer, &r)
		if m, _ := rd.ReadNext(b[n:], trustedPeer, &r); m != n {
			t.Fatalf("got %d bytes, want %d", m, n)
		}
	}); allocations != 0 {
		t.Errorf("got %v allocations, want 0", allocations)
	}
}
