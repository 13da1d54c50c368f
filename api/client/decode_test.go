package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"

	"shunt/engine/expect"
)

// These tests are of unexported decoders, which read bytes from outside. The other tests use the
// package as its users do.

func TestAProblemIsOneLine(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"fields": {
			`{"title":"T","detail":"D","code":"invalid","errors":[{"field":"url","message":"is bad"},{"field":"","message":"is worse"}]}`,
			"url: is bad; is worse (422 invalid)",
		},
		"a detail":                     {`{"title":"T","detail":"D","code":"invalid"}`, "D (422 invalid)"},
		"a title":                      {`{"title":"T","code":"invalid"}`, "T (422 invalid)"},
		"a status that is not HTTP's":  {`{"title":"T","code":"invalid","status":200}`, "T (422 invalid)"},
		"what is no problem+json":      {`{"error":"no"}`, "the server answered 422 Unprocessable Entity; is that address a shunt server?"},
		"what is no JSON":              {`<h1>no</h1>`, "the server answered 422 Unprocessable Entity; is that address a shunt server?"},
		"control characters and lines": {`{"detail":"a\u001b[2J\nb","code":"invalid"}`, `a\x1b[2J\nb (422 invalid)`},
		"controls in the code":         {`{"detail":"D","code":"in\nvalid"}`, `D (422 in\nvalid)`},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, readProblem(422, nil, []byte(c.answer)).Error(), c.want)
		})
	}
}

func TestAProblemIsItsKindAndNoOther(t *testing.T) {
	p := readProblem(404, nil, []byte(`{"code":"not_found"}`))
	wrapped := fmt.Errorf("looking: %w", p)
	var found *Problem
	expect.That(t, errors.Is(wrapped, ErrNotFound) && !errors.Is(wrapped, ErrInvalid) && errors.As(wrapped, &found) && found.Status == 404,
		"got %v", wrapped)
	none := readProblem(404, nil, nil)
	expect.That(t, !errors.Is(none, ErrNotFound) && !errors.Is(none, Kind("")), "a 404 that is not shunt's is ErrNotFound")
}

// events returns what readFigures makes of text, the error last.
func events(r io.Reader) string {
	var got []string
	for figures, err := range readFigures(r) {
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, fmt.Sprintf("%d/%d", figures.Hits, figures.Unique))
		}
	}
	return strings.Join(got, " ")
}

func TestEventsAreTakenApart(t *testing.T) {
	const one = `data: {"hits":3,"unique":2}` + "\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"two":                              {one + one, "3/2 3/2 unexpected EOF"},
		"comments between":                 {":\n\n" + one + ": alive\n\n", "3/2 unexpected EOF"},
		"CR LF, no space, other fields":    {"id:1\r\nretry: 5\r\ndata:{\"hits\":1}\r\n\r\n", "1/0 unexpected EOF"},
		"data of two lines":                {"data: {\"hits\":\ndata: 4}\n\n", "4/0 unexpected EOF"},
		"one that breaks off":              {one + `data: {"hits":9}` + "\n", "3/2 unexpected EOF"},
		"events of another name":           {"event: news\ndata: x\n\n" + one, "3/2 unexpected EOF"},
		"a name without data":              {"event: end\n\n" + one, "3/2 unexpected EOF"},
		"the end":                          {one + "event: end\ndata: {\"reason\":\"deleted\"}\n\n" + one, "3/2 the server has ended the stream: deleted"},
		"an end without a reason":          {"event: end\ndata: x\n\n", "the server has ended the stream: unknown"},
		"an end whose reason does tricks":  {"event: end\ndata: {\"reason\":\"a\\u001bb\"}\n\n", `the server has ended the stream: a\x1bb`},
		"data that is no JSON":             {"data: x\n\n" + one, "an event of the server: invalid character 'x' looking for beginning of value"},
		"a line without end":               {"data: " + strings.Repeat("x", maxLineBytes), errLineTooLong.Error()},
		"an event of lines without number": {strings.Repeat("data: "+strings.Repeat("x", 1<<16)+"\n", 17), errLineTooLong.Error()},
		"nothing":                          {"", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, events(strings.NewReader(c.text)), c.want)
			if len(c.text) > 1000 {
				return
			}
			expect.Equal(t, events(iotest.OneByteReader(strings.NewReader(c.text))), c.want, "byte by byte")
		})
	}
	expect.Equal(t, events(iotest.ErrReader(errors.New("cut"))), "cut")
}

func TestTheEndOfALiveStreamHasItsKind(t *testing.T) {
	for reason, want := range map[string]error{"deleted": ErrNotFound, "unauthorized": ErrUnauthorized, "shutdown": nil} {
		expect.Equal(t, errors.Unwrap(&LiveEnd{reason}), want, reason)
	}
}

func TestAnEditSaysWhatIsKeptSetAndReset(t *testing.T) {
	edit := Edit{
		URL: Set("https://example.org"), Title: Set(""), Tags: Reset[[]string](), MaxHits: Reset[uint64](), ForwardQuery: Set(false),
		ExpiresAt: Set(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	const want = `{"url":"https://example.org","expires_at":"2030-01-02T03:04:05Z","max_hits":null,"title":"","tags":null,"forward_query":false}`
	got, err := json.Marshal(edit)
	expect.That(t, err == nil && string(got) == want, "got %s, %v, want %s", got, err, want)
	got, err = json.Marshal(UserEdit{})
	expect.That(t, err == nil && string(got) == `{}`, "nothing to change: got %s, %v", got, err)
}

// Whatever a server sends, what is made of it is bounded, ends, and does nothing to a terminal.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		"data: {\"hits\":1}\n\n", "event: end\ndata: {\"reason\":\"deleted\"}\n\n", `{"code":"a"}` + "\n" + `{"code":"b"}`,
		`{"type":"urn:shunt:problem:gone","code":"gone","errors":[{"field":"f","message":"m"}]}`, "\r\n\r\n:\n", `{"type":5}`, "120", "Fri, 02 Jan 2026 03:04:09 GMT",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := readProblem(503, http.Header{"Retry-After": {string(text)}}, text)
		expect.That(t, p.Status == 503 && p.RetryAfter >= 0 && p.RetryAfter <= maxRetryAfter, "got %+v", p)
		legible(t, p)
		legible(t, p.Kind)
		total := 0
		for line, err := range readLines(strings.NewReader(string(text))) {
			expect.That(t, err != nil || json.Valid(line), "the line %q is no JSON", line)
			total += len(line)
			legible(t, err)
		}
		expect.That(t, total <= len(text), "%d bytes of lines are made of %d", total, len(text))
		var last error
		for _, last = range readFigures(strings.NewReader(string(text))) {
			legible(t, last)
		}
		expect.That(t, last != nil, "figures ended without an error")
	})
}

func legible(t *testing.T, err error) {
	expect.That(t, err == nil || !strings.ContainsFunc(err.Error(), unicode.IsControl), "the error %q has control characters", err)
}
