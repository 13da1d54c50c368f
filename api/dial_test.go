package api

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"shunt/engine/expect"
)

// patienceOfTests is a timeout for hanging tests; nothing is measured with it.
const patienceOfTests = 20 * time.Second

func dial(t *testing.T, addr, raw string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	expect.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	expect.NoError(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	expect.OK(t, expect.Err(io.WriteString(c, raw)))
	return c, bufio.NewReader(c)
}

// sendRaw sends raw on a connection to addr and returns everything that it receives until the
// server closes the connection.
func sendRaw(t testing.TB, addr, raw string) []byte {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	expect.OK(t, err)
	return exchangeOn(t, c, raw)
}

// exchangeOn sends raw on c and returns everything that it receives until the server closes the
// connection.
func exchangeOn(t testing.TB, c net.Conn, raw string) []byte {
	t.Helper()
	defer c.Close()
	expect.OK(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	go func() { _, _ = io.WriteString(c, raw) }() // the server may close before it has read all
	answers, err := io.ReadAll(c)
	expect.MustThat(t, err == nil, "the connection was not closed: %v; got %q", err, answers)
	return answers
}

// onlyAnswer returns the answer to a request of method, which must be the only one.
func onlyAnswer(t testing.TB, answers []byte, method string) reply {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(answers))
	answer := readReply(t, r, method)
	for answer.status == 100 {
		answer = readReply(t, r, method)
	}
	rest, _ := io.ReadAll(r)
	expect.That(t, len(rest) == 0, "something comes after the answer %d: %q", answer.status, rest)
	return answer
}
