package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/client"
)

// batchesOf yields n batches of two links: a and b of each number.
func batchesOf(n int, made *atomic.Int64) iter.Seq[*client.ImportBatch] {
	return func(yield func(*client.ImportBatch) bool) {
		for i := range n {
			b := &client.ImportBatch{Note: i}
			b.Add(fmt.Appendf(nil, `{"code":"%da"}`, i))
			b.Add(fmt.Appendf(nil, `{"code":"%db"}`, i))
			made.Add(1)
			if !yield(b) {
				return
			}
		}
	}
}

// answerTo answers an import: links that are in known exist already, others become known in order.
func answerTo(body io.Reader, known *[]string) string {
	created, existing, items := 0, 0, []string{}
	for lines := bufio.NewScanner(body); lines.Scan(); {
		item := `{"index":%d,"status":201,"link":{}}`
		if slices.Contains(*known, lines.Text()) {
			existing++
		} else {
			created++
			*known = append(*known, lines.Text())
		}
		items = append(items, fmt.Sprintf(item, len(items)))
	}
	return fmt.Sprintf(`{"created":%d,"existing":%d,"failed":0,"results":[%s]}`, created, existing, strings.Join(items, ","))
}

// wantInOrder checks that known has both links of n batches, in order.
func wantInOrder(t *testing.T, known []string, n int) {
	t.Helper()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf(`{"code":"%da"}`, i), fmt.Sprintf(`{"code":"%db"}`, i))
	}
	if !slices.Equal(known, want) {
		t.Errorf("the server has %d links, want %d in their order; it begins with %.100q", len(known), len(want), known)
	}
}

// importAll imports n batches and checks that their results come in order.
func importAll(t *testing.T, ctx context.Context, c *client.Client, n int) (created, existing int, err error) {
	t.Helper()
	next := 0
	for r, err := range c.ImportAll(ctx, batchesOf(n, new(atomic.Int64)), client.Owner(1)) {
		if err != nil {
			return created, existing, err
		}
		if r.Batch.Note != next {
			t.Errorf("got the result of batch %v, want %d", r.Batch.Note, next)
		}
		next++
		created, existing = created+r.Created, existing+r.Existing
	}
	if next != n {
		t.Errorf("got %d results, want %d", next, n)
	}
	return created, existing, nil
}

// pipelining returns a client whose connections dial makes.
func pipelining(t *testing.T, origin string, retry client.Retry, dial func(context.Context, string, string) (net.Conn, error)) *client.Client {
	t.Helper()
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := client.New(origin, "shunt_secret", &client.Options{Transport: &http.Transport{DialContext: dial}, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The server reads requests as they come, and answers only when eight have no answer, or the last
// has come. So it answers for ever later if there are never eight.
func TestAnImportKeepsEightRequestsUnderWay(t *testing.T) {
	const batches = 50
	server, side := net.Pipe()
	var made atomic.Int64
	received := make(chan string, batches)
	go func() {
		for in := bufio.NewReader(server); ; {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(request.Body)
			received <- string(body)
		}
	}()
	var known []string
	most := 0
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for n, waiting := 0, []string(nil); n < batches; n++ {
			for len(waiting) == 0 || n > 0 && len(waiting) < min(8, batches-n) {
				waiting = append(waiting, <-received)
			}
			most = max(most, len(waiting)+len(received))
			text := answerTo(strings.NewReader(waiting[0]), &known)
			fmt.Fprintf(server, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			waiting = waiting[1:]
		}
	}()
	c := pipelining(t, "http://sho.rt", client.Retry{Attempts: 1}, func(context.Context, string, string) (net.Conn, error) { return side, nil })
	ahead := int64(0)
	n := int64(0)
	for r, err := range c.ImportAll(t.Context(), batchesOf(batches, &made)) {
		if err != nil || r.Created != 2 {
			t.Fatalf("got %+v, %v", r, err)
		}
		n++
		ahead = max(ahead, made.Load()-n)
	}
	<-answered
	wantInOrder(t, known, batches)
	if most > 8 {
		t.Errorf("got %d requests under way, want at most 8", most)
	}
	if ahead > 12 {
		t.Errorf("the batches were %d ahead of the results, want at most 12", ahead)
	}
}

// A breaker is a server that fails in every way it can, as its random numbers have it.
type breaker struct {
	mu     sync.Mutex
	random *rand.Rand
	known  []string
}

// ServeHTTP implements http.Handler.
func (b *breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.random.IntN(12) {
	case 0: // before anything is done
		panic(http.ErrAbortHandler)
	case 1: // after all is done
		_ = answerTo(r.Body, &b.known)
		panic(http.ErrAbortHandler)
	case 2: // in the answer
		text := answerTo(r.Body, &b.known)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case 3:
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, answerTo(r.Body, &b.known))
	case 4:
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"code":"outcome_unknown"}`)
		panic(http.ErrAbortHandler) // a server that answers those after it would change the order
	default:
		_, _ = io.WriteString(w, answerTo(r.Body, &b.known))
	}
}

func TestAnImportGoesOnAfterAnyFailureInOrder(t *testing.T) {
	const batches = 60
	for seed := range uint64(20) {
		b := &breaker{random: rand.New(rand.NewPCG(seed, 7))}
		s := httptest.NewServer(b)
		for name, transport := range map[string]http.RoundTripper{
			"pipelined": &http.Transport{DialContext: new(net.Dialer).DialContext}, "one at a time": &http.Transport{},
		} {
			c, err := client.New(s.URL, "", &client.Options{Transport: transport, Retry: client.Retry{Attempts: 50, BaseWait: 1}})
			if err != nil {
				t.Fatal(err)
			}
			b.known = nil
			created, existing, err := importAll(t, t.Context(), c, batches)
			if err != nil || created+existing != 2*batches {
				t.Errorf("%s, seed %d: got %d and %d links, %v, want %d", name, seed, created, existing, err, 2*batches)
			}
			wantInOrder(t, b.known, batches)
		}
		s.Close()
	}
}

func TestAServerThatRefusesGetsOneRequest(t *testing.T) {
	c, requests := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, `{"code":"forbidden","detail":"D"}`)
	})
	_, _, err := importAll(t, t.Context(), c, 20)
	if !errors.Is(err, client.ErrForbidden) || requests.Load() != 1 {
		t.Errorf("got %v after %d requests, want one refusal", err, requests.Load())
	}
}

func TestAnImportEndsWithItsConsumerOrContext(t *testing.T) {
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answerTo(r.Body, new([]string)))
	})
	var made atomic.Int64
	results := 0
	for _, err := range c.ImportAll(t.Context(), batchesOf(1000, &made)) {
		if results++; err != nil || results == 3 {
			break
		}
	}
	if n := made.Load(); results != 3 || n > 15 {
		t.Errorf("got %d results of %d batches", results, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.ImportAll(ctx, batchesOf(1000, &made)) {
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	}
	if _, _, err := importAll(t, ctx, c, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, _, err := importAll(t, t.Context(), c, 0); err != nil {
		t.Errorf("an import of nothing: got %v", err)
	}
	for _, err := range c.ImportAll(t.Context(), batchesOf(1, &made), client.IdempotencyKey("k")) {
		if err == nil || !strings.Contains(err.Error(), "has no use for") {
			t.Errorf("a key for an import: got %v", err)
		}
	}
}

// An empty batch needs no request; its result comes in its turn.
func TestAnEmptyBatchHasAResultInOrder(t *testing.T) {
	var known []string
	c, requests := serving(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answerTo(r.Body, &known)) })
	full := &client.ImportBatch{Note: "full"}
	full.Add([]byte(`{"code":"0a"}`))
	batches := []*client.ImportBatch{{Note: "first"}, {Note: "second"}, full, {Note: "last"}}
	var got []any
	for r, err := range c.ImportAll(t.Context(), slices.Values(batches)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Batch.Note, r.Created)
	}
	if want := []any{"first", 0, "second", 0, "full", 1, "last", 0}; !slices.Equal(got, want) || requests.Load() != 1 {
		t.Errorf("got %v by %d requests, want %v by one", got, requests.Load(), want)
	}
}

func TestASilentServerEndsAnImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var connections []net.Conn
		c := pipelining(t, "http://sho.rt", client.Retry{Attempts: 1}, func(context.Context, string, string) (net.Conn, error) {
			server, side := net.Pipe()
			connections = append(connections, server)
			go func() { _, _ = io.Copy(io.Discard, server) }()
			return side, nil
		})
		begun := time.Now()
		_, _, err := importAll(t, t.Context(), c, 20)
		if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() || time.Since(begun) != 30*time.Second {
			t.Errorf("got %v after %v, want a timeout after 30s", err, time.Since(begun))
		}
		for _, c := range connections {
			_ = c.Close()
		}
	})
}

// Both ways of sending give the server the same request.
func TestAPipelinedRequestIsTheTransportsRequest(t *testing.T) {
	var seen []string
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // the transport decompresses answers; a pipe asks for none
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprint(r.Method, r.Host, r.RequestURI, r.Header, r.ContentLength, string(body)))
		_, _ = io.WriteString(w, answerTo(strings.NewReader(string(body)), new([]string)))
	})
	if _, _, err := importAll(t, t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
	one := seen[0]
	if !strings.Contains(one, "Bearer shunt_secret") || !strings.Contains(one, "owner=1") || !strings.Contains(one, "application/x-ndjson") {
		t.Errorf("got %s", one)
	}
	host := one[len("POST"):strings.Index(one, "/api")]
	p := pipelining(t, "http://"+host, client.Retry{}, nil)
	if _, _, err := importAll(t, t.Context(), p, 1); err != nil {
		t.Fatal(err)
	}
	if seen[1] != one {
		t.Errorf("got\n%s\nwant\n%s", seen[1], one)
	}
}

func TestAnImportGoesThroughTLSAndThroughProxies(t *testing.T) {
	var known []string
	handle := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answerTo(r.Body, &known)) })
	secure := httptest.NewUnstartedServer(handle)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the certificate that is not trusted
	secure.StartTLS()
	defer secure.Close()
	transport := secure.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = new(net.Dialer).DialContext
	for _, tls := range []bool{true, false} { // the second does not trust the certificate
		known = nil
		c, err := client.New(secure.URL, "", &client.Options{Transport: transport, Retry: client.Retry{Attempts: 1}})
		if !tls {
			c = pipelining(t, secure.URL, client.Retry{}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = importAll(t, t.Context(), c, 30); (err == nil) != tls || err != nil && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v, want success: %v", err, tls)
		}
	}
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied++
		handle(w, r)
	}))
	defer proxy.Close()
	address, _ := url.Parse(proxy.URL)
	known = nil
	through := &http.Transport{DialContext: new(net.Dialer).DialContext, Proxy: http.ProxyURL(address)}
	c, err := client.New("http://sho.rt", "", &client.Options{Transport: through})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := importAll(t, t.Context(), c, 5); err != nil || proxied != 5 {
		t.Errorf("got %v after %d requests at the proxy, want 5", err, proxied)
	}
	wantInOrder(t, known, 5)
}
