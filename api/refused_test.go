package api

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/wiretest"
)

// patienceOfTests ends what hangs; nothing is measured by it.
const patienceOfTests = 20 * time.Second

// exchange sends raw on a connection to addr and returns all that comes until the server closes it.
func exchange(t testing.TB, addr, raw string) []byte {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patienceOfTests)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(c, raw) }() // the server may close before it has read all
	answers, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("the connection was not closed: %v; got %q", err, answers)
	}
	return answers
}

// onlyAnswer returns the one answer that there is, to a request of method.
func onlyAnswer(t testing.TB, answers []byte, method string) reply {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(answers))
	answer := readReply(t, r, method)
	for answer.status == 100 {
		answer = readReply(t, r, method)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("something comes behind the answer %d: %q", answer.status, rest)
	}
	return answer
}

func TestWhatCouldBeReadInTwoWaysIsRefusedAndNothingBehindItAnswered(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	st.shorten(`{"url":"http://a/","alias":"smuggled"}`)
	addr := st.realAddress()
	rows := wiretest.Refused()
	if len(rows) < 200 {
		t.Errorf("there are only %d rows", len(rows))
	}
	before := st.counted()
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			method, _, _ := strings.Cut(row.Raw, " ")
			r := onlyAnswer(t, exchange(t, addr, row.Raw+wiretest.Smuggled), method)
			if !slices.Contains(row.Want, r.status) || !r.close {
				t.Errorf("%s: got %d, close %v; want %v, and the connection closed", row.Section, r.status, r.close, row.Want)
			}
			if r.problem() == "" && method != http.MethodHead {
				t.Errorf("got %+v, want a problem", r)
			}
		})
	}
	if after := st.counted(); after != before {
		t.Errorf("something was created or counted: %s became %s", before, after)
	}
}

// A request that comes byte by byte is the same request.
func TestARefusedRequestIsRefusedHoweverItIsCut(t *testing.T) {
	for _, row := range wiretest.Refused() {
		whole, bytewise := verdictOf(row.Raw+wiretest.Smuggled, len(row.Raw)+len(wiretest.Smuggled)), verdictOf(row.Raw+wiretest.Smuggled, 1)
		if whole != bytewise {
			t.Errorf("%s: in one piece %s, byte by byte %s", row.Name, whole, bytewise)
		}
	}
}

// verdictOf sends raw through a gate in pieces and says how it ends.
func verdictOf(raw string, piece int) string {
	var g gate
	for b := []byte(raw); len(b) > 0 && !g.closed(); b = b[min(piece, len(b)):] {
		g.pass(slices.Clone(b[:min(piece, len(b))]))
	}
	if g.refused != nil {
		return g.refused.Error()
	}
	return "let through"
}
