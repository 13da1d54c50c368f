package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"shunt/api/client"
	"shunt/engine/expect"
)

// batchesOf yields n batches of two links: a and b of each number. It counts those that were read.
func batchesOf(n int, read *int) iter.Seq[[]json.RawMessage] {
	return func(yield func([]json.RawMessage) bool) {
		for i := range n {
			*read++
			if !yield([]json.RawMessage{fmt.Appendf(nil, `{"code":"%da"}`, i), fmt.Appendf(nil, `{"code":"%db"}`, i)}) {
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
	expect.Slices(t, known, want, "the server has %d links, want %d in their order; it begins with", len(known), len(want))
}

// importAll imports n batches.
func importAll(ctx context.Context, c *client.Client, n int) (created, existing int, err error) {
	for r, err := range c.ImportAll(ctx, batchesOf(n, new(int)), client.Owner(1)) {
		if err != nil {
			return created, existing, err
		}
		created, existing = created+r.Created, existing+r.Existing
	}
	return created, existing, nil
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
	default:
		_, _ = io.WriteString(w, answerTo(r.Body, &b.known))
	}
}

func TestAnImportGoesOnAfterAnyFailureInOrder(t *testing.T) {
	const batches = 60
	for seed := range uint64(20) {
		b := &breaker{random: rand.New(rand.NewPCG(seed, 7))}
		s := httptest.NewServer(b)
		c, err := client.New(s.URL, "", &client.Options{Retry: client.Retry{Attempts: 50, BaseWait: 1}})
		expect.OK(t, err)
		created, existing, err := importAll(t.Context(), c, batches)
		expect.That(t, err == nil && created+existing == 2*batches,
			"seed %d: got %d and %d links, %v, want %d", seed, created, existing, err, 2*batches)
		wantInOrder(t, b.known, batches)
		s.Close()
	}
}

func TestAServerThatRefusesGetsOneRequest(t *testing.T) {
	c, requests := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, `{"code":"forbidden","detail":"D"}`)
	})
	_, _, err := importAll(t.Context(), c, 20)
	expect.That(t, errors.Is(err, client.ErrForbidden) && requests.Load() == 1, "got %v after %d requests, want one refusal", err, requests.Load())
}

func TestAnImportEndsWithItsConsumerOrContext(t *testing.T) {
	c, requests := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answerTo(r.Body, new([]string)))
	})
	results, read := 0, 0
	for _, err := range c.ImportAll(t.Context(), batchesOf(1000, &read)) {
		if results++; err != nil || results == 3 {
			break
		}
	}
	expect.That(t, results == 3 && read == 3 && requests.Load() == 3,
		"got %d results of %d batches by %d requests, want 3", results, read, requests.Load())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range c.ImportAll(ctx, batchesOf(1000, &read)) {
		cancel()
		expect.That(t, err == nil || errors.Is(err, context.Canceled), "got %v, want the end of the context", err)
	}
	_, _, err := importAll(ctx, c, 1)
	expect.Error(t, err, context.Canceled)
	_, _, err = importAll(t.Context(), c, 0)
	expect.NoError(t, err, "an import of nothing")
	for _, err := range c.ImportAll(t.Context(), batchesOf(1, &read), client.IdempotencyKey("k")) {
		expect.That(t, err != nil && strings.Contains(err.Error(), "has no use for"), "a key for an import: got %v", err)
	}
}

// An empty batch needs no request; its result comes in its turn.
func TestAnEmptyBatchHasAResultInOrder(t *testing.T) {
	var known []string
	c, requests := serving(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answerTo(r.Body, &known)) })
	var got []int
	for r, err := range c.ImportAll(t.Context(), slices.Values([][]json.RawMessage{nil, {[]byte(`{"code":"0a"}`)}, nil})) {
		expect.OK(t, err)
		got = append(got, r.Created)
	}
	want := []int{0, 1, 0}
	expect.That(t, slices.Equal(got, want) && requests.Load() == 1, "got %v by %d requests, want %v by one", got, requests.Load(), want)
}

// A link is one line of the request, whatever it is: the server refuses what is wrong.
func TestEachLinkIsALineOfAnImport(t *testing.T) {
	var got string
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		_, _ = io.WriteString(w, answerTo(strings.NewReader(got), new([]string)))
	})
	links := []json.RawMessage{[]byte(`{"code":"a"}`), []byte("{\n\"code\":\n\"b\"}"), []byte(" \t\n"), []byte("{")}
	for _, err := range c.ImportAll(t.Context(), slices.Values([][]json.RawMessage{links})) {
		want := "{\"code\":\"a\"}\n{\r\"code\":\r\"b\"}\n \t\rnull\n{\n"
		expect.That(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
	}
}
