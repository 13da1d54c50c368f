package failures

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

var (
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	client = netip.MustParseAddr("192.0.2.7")
)

// newLog returns a log, and what it has written so far.
func newLog(clients bool) (*Log, *bytes.Buffer) {
	out := new(bytes.Buffer)
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return New(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: noTime})), clients, start), out
}

func TestALineNamesTheClientIfItMay(t *testing.T) {
	for _, c := range []struct {
		clients bool
		client  netip.Addr
		want    string
	}{
		{true, client, `level=WARN msg="login failed" client=192.0.2.7 request_id=a-b_c`},
		{true, netip.MustParseAddr("2001:db8::7"), `level=WARN msg="login failed" client=2001:db8::7 request_id=a-b_c`},
		{true, netip.Addr{}, `level=WARN msg="login failed" request_id=a-b_c`},
		{false, client, `level=WARN msg="login failed" request_id=a-b_c`},
	} {
		l, out := newLog(c.clients)
		l.Note(Login, c.client, "a-b_c", start)
		expect.Equal(t, out.String(), c.want+"\n", "want %s", c.want)
	}
}

func TestAClientCausesTenLinesAMinute(t *testing.T) {
	l, out := newLog(true)
	note := func(n int, client string, now time.Time) (lines int) {
		for range n {
			l.Note(Token, netip.MustParseAddr(client), "x", now)
		}
		lines = strings.Count(out.String(), "token refused")
		out.Reset()
		return lines
	}
	for _, c := range []struct {
		n      int
		client string
		after  time.Duration
		want   int
	}{
		{100, "192.0.2.7", 0, 10},
		{1, "192.0.2.8", 0, 1},
		{100, "2001:db8::7", time.Second, 10},
		{1, "2001:db8::8", time.Second, 0}, // of the same /64
		{1, "2001:db8:0:1::8", time.Second, 1},
		{100, "192.0.2.7", time.Minute, 10},
	} {
		expect.Equal(t, note(c.n, c.client, start.Add(c.after)), c.want, "%d failures of %s after %v lines", c.n, c.client, c.after)
	}
}

func TestAFloodFromManyClientsCausesFewLines(t *testing.T) {
	l, out := newLog(true)
	for i := range 5 * 1000 {
		addr := netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)})
		l.Note(Login, addr, "x", start.Add(time.Duration(i)*time.Millisecond)) // 1,000 a second
	}
	expect.Equal(t, strings.Count(out.String(), "login failed"), 5*maxPerSecond, "lines in 5 s")
	expect.That(t, !strings.Contains(out.String(), "not logged"), "a summary came before its minute")
	out.Reset()
	l.Note(Login, client, "x", start.Add(2*time.Minute))
	want := fmt.Sprintf("level=WARN msg=\"failures not logged\" failures=%d\n", 5*(1000-maxPerSecond))
	got := out.String()
	expect.That(t, strings.HasPrefix(got, want) && strings.Count(got, "\n") == 2, "got %s, want %s and the line of the failure", got, want)
	out.Reset()
	l.Note(Login, client, "x", start.Add(4*time.Minute))
	got = out.String()
	expect.That(t, !strings.Contains(got, "not logged"), "nothing is missing, but got %s", got)
}
