package load

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

const redirect = "HTTP/1.1 302 Found\r\nDate: Sun, 22 Nov 2026 22:47:22 GMT\r\nContent-Length: 0\r\nLocation: " + TargetStart + "x\r\n\r\n"

func TestOnlyRedirectsToTargetsAreAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		length int
		fails  bool
	}{
		"a redirect":                     {redirect, len(redirect), false},
		"a redirect and half of another": {redirect + redirect[:20], len(redirect), false},
		"nothing":                        {"", 0, false},
		"half a status line":             {redirect[:9], 0, false},
		"half a head":                    {redirect[:len(redirect)-1], 0, false},
		"small letters":                  {strings.Replace(strings.ToLower(redirect), "http", "HTTP", 1), len(redirect), false},
		"a body":                         {strings.Replace(redirect, ": 0", ": 3", 1) + "abc", len(redirect) + 3, false},
		"half a body":                    {strings.Replace(redirect, ": 0", ": 3", 1) + "ab", 0, false},
		"no length":                      {strings.Replace(redirect, "Content-Length", "Content-Size", 1), 0, true},
		"a length that is no number":     {strings.Replace(redirect, ": 0", ": x", 1), 0, true},
		"an enormous length":             {strings.Replace(redirect, ": 0", ": 99999999999999999999", 1), 0, true},
		"no Location":                    {strings.Replace(redirect, "Location", "Elsewhere", 1), 0, true},
		"a Location elsewhere":           {strings.Replace(redirect, "example", "elsewhere", 1), 0, true},
		"not found":                      {strings.Replace(redirect, "302 Found", "404 Not Found", 1), 0, true},
		"another protocol":               {"SSH-2.0-x", 0, true},
		"a head without end":             {strings.Replace(redirect, "\r\n\r\n", "\r\nX: "+strings.Repeat("x", maxHeadBytes), 1), 0, true},
	} {
		got, _, err := answerLength([]byte(c.answer), redirectLine)
		expect.That(t, got == c.length && (err != nil) == c.fails && (err == nil || errors.Is(err, errWrongAnswer)), "%s: got %d, %v", name, got, err)
	}
}

func TestTheLastAnswerOfAConnectionIsRecognized(t *testing.T) {
	for field, want := range map[string]bool{
		"Connection: close": true, "connection:close": true, "Connection: keep-alive": false, "Connection: closed": false, "X: close": false, "Proxy-Connection: close": false,
	} {
		_, last, err := answerLength([]byte(strings.Replace(redirect, "\r\n\r\n", "\r\n"+field+"\r\n\r\n", 1)), redirectLine)
		expect.That(t, err == nil && last == want, "%s: got %v, %v", field, last, err)
	}
}

// FuzzAnswerLength checks that answers are found wherever their bytes are cut.
func FuzzAnswerLength(f *testing.F) {
	f.Add([]byte(redirect), 30)
	f.Add([]byte(strings.Replace(redirect, ": 0", ": 5", 1)+"<a/>\n"), 130)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		n, last, err := answerLength(b, redirectLine)
		expect.MustThat(t, n >= 0 && n <= len(b) && (err == nil || n == 0) && (!last || n != 0), "got %d, %v", n, err)
		if cut = max(0, min(cut, n-1)); n == 0 {
			return
		}
		got, _, err := answerLength(b[:cut], redirectLine)
		expect.That(t, got == 0 && err == nil, "its first %d bytes: got %d, %v", cut, got, err)
	})
}

func TestArrivalsAreAPoissonProcess(t *testing.T) {
	const rate, n = 30_000, 200_000
	a := newArrivals(rate, rand.New(rand.NewPCG(3, 4)))
	var gaps []float64
	for last := time.Duration(0); len(gaps) < n; a.step() {
		gaps = append(gaps, float64(a.next-last)*rate/float64(time.Second))
		last = a.next
	}
	sum, long := 0.0, 0
	for _, gap := range gaps {
		if sum += gap; gap > 1 {
			long++
		}
	}
	mean := sum / n
	expect.That(t, math.Abs(mean-1) <= 0.01, "the mean gap is %v of the wanted one", mean)
	share := float64(long) / n
	expect.That(t, math.Abs(share-1/math.E) <= 0.005, "a share of %v of the gaps is longer than their mean, want 1/e", share)
}

func TestLinksHaveCodesAndTargetsOfTheirOwn(t *testing.T) {
	const n = 200_000
	seen := make(map[string]bool, n)
	for i := range n {
		seen[strings.ToLower(Code(i))] = true
	}
	expect.Equal(t, len(seen), n, "codes differ by more than case")
	got := Target(7)
	expect.That(t, len(got) == targetBytes && strings.HasPrefix(got, TargetStart) && got != Target(8), "got target %q", got)
}

func TestZipfDrawsFewLinksOften(t *testing.T) {
	const links = 1000
	counts := make(map[code]int)
	for _, c := range drawCodes(links, rand.New(rand.NewPCG(5, 6))) {
		counts[c]++
	}
	for i := range links {
		delete(counts, codeOf(i))
		expect.That(t, i != links/2 || len(counts) >= links/10, "only %d links are in the other half", len(counts))
	}
	expect.That(t, len(counts) == 0, "%d codes are of no link", len(counts))
	got := drawCodes(1, nil)
	expect.That(t, len(got) == 1 && got[0] == codeOf(0), "of one link: got %q", got)
}

func TestRequestsAreThoseOfVisitors(t *testing.T) {
	s := &Spec{Address: "127.0.0.1:80", Visitors: true}
	agents := make(map[string]bool)
	for _, request := range templates(s) {
		c := codeOf(5)
		b := request.appendTo([]byte("before"), &c)[len("before"):]
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		expect.OK(t, err)
		expect.That(t, r.URL.Path == "/"+Code(5) && r.Host == s.Address, "got %s of %s with %v", r.URL, r.Host, r.Header)
		agents[r.UserAgent()] = true
	}
	expect.Equal(t, len(agents), 160, "User-Agents")
	expect.Equal(t, len(templates(&Spec{Address: "127.0.0.1:80"})), 1, "requests of one visitor")
}

func TestSourceAddressesAreOfLoopback(t *testing.T) {
	seen := make(map[[4]byte]bool)
	for n := range 2 * sourceAddresses {
		a := sourceOf(n)
		if seen[a] = true; a[0] != 127 || a[3] == 0 || a[3] == 255 {
			t.Fatalf("got %v", a)
		}
	}
	expect.Equal(t, len(seen), sourceAddresses, "addresses")
}
