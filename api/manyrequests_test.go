//go:build !race

package api

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// The test of this file makes more than a million requests, which would take the race detector half
// a minute.

// The limit is the same however a connection mixes requests, and whoever answers them. None of
// the answers is lost, and their order is kept.
func TestAConnectionEndsAfterAHundredThousandRequests(t *testing.T) {
	t.Parallel()
	expect.Long(t)
	for _, d := range doors {
		want := 100_000
		if d.handed {
			want-- // after another
		}
		t.Run("door="+d.name, func(t *testing.T) {
			st := newSite(t, d.options(nil))
			for i := range 10 {
				st.shorten(fmt.Sprintf(`{"url":"http://a/%d","alias":"keep%[1]d","redirect_status":307}`, i))
			}
			dial := d.open(t, st)
			for _, other := range []string{"HEAD", "POST"} { // which is plain, and is not
				wantInOrder(t, dial(), want, other)
			}
		})
	}
}

// wantInOrder sends more than n requests on c, one in ten of them with the method other, and checks
// that the first n are answered, one after the other, and that the last of these says close.
func wantInOrder(t *testing.T, c net.Conn, n int, other string) {
	t.Helper()
	var requests, want strings.Builder
	for i := range n + 50 {
		method := "HEAD"
		if i%10 == 7 {
			method = other
		}
		fmt.Fprintf(&requests, "%s /keep%d HTTP/1.1\r\nHost: a\r\n\r\n", method, i%10)
		if i >= n {
			continue
		}
		length, ends := "", ""
		if method == "POST" {
			length = "Content-Length: 0\r\n"
		}
		if i == n-1 {
			ends = "Connection: close\r\n"
		}
		fmt.Fprintf(&want, "HTTP/1.1 307 Temporary Redirect\r\nDate: then\r\n%sLocation: http://a/%d\r\nCache-Control: private, no-store\r\n%s\r\n", length, i%10, ends)
	}
	if got := undated(exchangeOn(t, c, requests.String())); got != want.String() {
		t.Errorf("%s, got %s", other, difference(want.String(), got))
	}
}
