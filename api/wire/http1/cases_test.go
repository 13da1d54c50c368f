package http1

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shunt/engine/expect"
)

// The cases are in testdata/cases: lines of a name and of what has come, and what is read from that.
func TestRequestsAreReadAsTheFilesSay(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for name, rest := range casesIn(d.Input) {
				switch d.Cmd {
				case "client":
					fmt.Fprintf(&out, "%s → %v\n", name, clientOf(t, rest))
				case "read":
					fmt.Fprintf(&out, "%s → %s\n", name, plainText(t, unquoted(t, rest)))
				}
			}
			return out.String()
		})
	})
}

// casesIn yields the names and what follows them.
func casesIn(text string) func(yield func(name, rest string) bool) {
	return func(yield func(name, rest string) bool) {
		for line := range strings.Lines(text) {
			if name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); !yield(name, rest) {
				return
			}
		}
	}
}

func unquoted(t testing.TB, text string) string {
	t.Helper()
	raw, err := strconv.Unquote(text)
	expect.OK(t, err, text)
	return raw
}

// ordinary has a request of each ordinary client as it sends it.
var ordinary = func() map[string]string {
	text, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		panic(err)
	}
	requests := make(map[string]string)
	for name, rest := range casesIn(string(text)) {
		requests[name], _ = strconv.Unquote(rest)
	}
	return requests
}()

// clientOf returns the client of a request: text is the address of its peer, and the lines of its header, quoted.
func clientOf(t *testing.T, text string) netip.Addr {
	peer, quoted, _ := strings.Cut(text, " ")
	var lines []string
	for quoted != "" {
		line, err := strconv.QuotedPrefix(quoted)
		expect.OK(t, err)
		lines = append(lines, "X-Forwarded-For", unquoted(t, line))
		quoted = strings.TrimPrefix(quoted[len(line):], " ")
	}
	ctx := requestFrom(tcpAddr(peer), lines...)
	return someProxies.ClientAddr(ctx, PeerAddr(ctx))
}

// plainText reads a request of a trusted peer into a Plain that was used before, and returns what is in it then.
func plainText(t *testing.T, raw string) string {
	t.Helper()
	r := leftover()
	n, more := newReader().Read([]byte(raw), trustedPeer, &r)
	if n == 0 && !more {
		return "not plain"
	}
	expect.That(t, n == len(raw) && !more && string(r.Raw) == raw && r.Peer == trustedPeer && r.NowMs == leftover().NowMs,
		"%q: got %d, %v, %q of %v at %d", raw, n, more, r.Raw, r.Peer, r.NowMs)
	text := fmt.Sprintf("%s of %q by %q", r.Segment, r.Referrer, r.UserAgent)
	for _, part := range []struct {
		name  string
		value any
		there bool
	}{
		{"query", string(r.Query), len(r.Query) > 0}, {"client", r.Client.String(), r.Client != trustedPeer}, {"country", string(r.Country), len(r.Country) > 0},
		{"purposes", string(r.Purposes), len(r.Purposes) > 0}, {"HEAD", "", r.Head}, {"closes", "", r.Closes},
	} {
		if part.there {
			text += fmt.Sprintf(", %s %q", part.name, part.value)
		}
	}
	return text
}
