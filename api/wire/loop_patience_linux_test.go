package wire

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

// A head in a loop is judged like one of fasthttp, and refused with the same bytes.
func TestASlowHeadInALoopGetsFasthttps408(t *testing.T) {
	byFasthttp := newSite(t, Limits{Connections: 10})
	byLoop := newLoopSite(t, 1, Limits{Connections: 10})
	const head = "GET /x HTTP/1.1\r\nHost: "
	_, want := byFasthttp.dial(head)
	_, got := byLoop.dial(head)
	byFasthttp.l.await(func(c *conn) bool { return c.row.heard() })
	byLoop.l.awaitRow((*row).heard)
	for range DefaultPatience.Head / SweepInterval {
		byFasthttp.Sweep()
		byLoop.Sweep()
	}
	if n := byLoop.Open(); n != 1 {
		t.Fatalf("after 10 s there are %d connections, want 1", n)
	}
	byFasthttp.Sweep()
	byLoop.Sweep()
	wanted, err := io.ReadAll(want)
	check(t, err)
	answer, err := io.ReadAll(got)
	check(t, err)
	if undated(answer) != undated(wanted) || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
		t.Errorf("got\n%s\nwant\n%s", answer, wanted)
	}
}

var dateField = regexp.MustCompile(`\r\nDate: [^\r]*\r\n`)

func undated(answer []byte) string {
	return string(dateField.ReplaceAll(answer, []byte("\r\nDate: then\r\n")))
}
