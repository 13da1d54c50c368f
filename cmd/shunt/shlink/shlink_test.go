package shlink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A stub answers as a Shlink server with a number of links does.
type stub struct {
	links    int
	total    int               // that it says; -1: links
	answer   map[int][]stubbed // by page: what it answers first
	requests []string
	waits    []time.Duration
}

type stubbed struct {
	status int
	header string // Retry-After
	body   string
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number, _ := strconv.Atoi(q.Get("page"))
	s.requests = append(s.requests, fmt.Sprint(r.URL.Path, " ", number, " ", q.Get("orderBy"), " ", r.Header.Get("X-Api-Key")))
	if first := s.answer[number]; len(first) > 0 {
		s.answer[number] = first[1:]
		if first[0].header != "" {
			w.Header().Set("Retry-After", first[0].header)
		}
		w.WriteHeader(first[0].status)
		_, _ = w.Write([]byte(first[0].body))
		return
	}
	size, _ := strconv.Atoi(q.Get("itemsPerPage"))
	var items []string
	for i := (number - 1) * size; i < min(number*size, s.links); i++ {
		items = append(items, fmt.Sprintf(`{"shortCode":"c%05d"}`, i))
	}
	total := s.total
	if total < 0 {
		total = s.links
	}
	fmt.Fprintf(w, `{"shortUrls":{"data":[%s],"pagination":{"currentPage":%d,"pagesCount":%d,"itemsPerPage":%d,"totalItems":%d}}}`,
		strings.Join(items, ","), number, (s.links+size-1)/size, size, total)
}

func (s *stub) fetch(t *testing.T) (text string, links int64, err error) {
	t.Helper()
	served := httptest.NewServer(s)
	defer served.Close()
	from, err := New(served.URL+"/", " key\n", "shunt/test", true)
	expect.OK(t, err)
	from.wait = func(_ context.Context, d time.Duration) error {
		s.waits = append(s.waits, d)
		return nil
	}
	var b bytes.Buffer
	links, err = from.Fetch(t.Context(), &b, func(int64, int64) {})
	return b.String(), links, err
}

func TestAllPagesAreFetchedInTheOrderOfCodes(t *testing.T) {
	for links, pages := range map[int]int{0: 1, 1: 1, 500: 1, 501: 2, 1700: 4} {
		s := &stub{links: links, total: -1}
		text, n, err := s.fetch(t)
		expect.That(t, err == nil && n == int64(links) && strings.Count(text, "shortCode") == links && strings.Count(text, "\n") == pages,
			"%d links: got %d on %d lines, %v", links, n, strings.Count(text, "\n"), err)
		expect.Equal(t, len(s.requests), pages, "requests for %d links", links)
		expect.Equal(t, s.requests[pages-1], fmt.Sprintf("/rest/v3/short-urls %d shortCode-ASC key", pages))
	}
}

func TestAServerThatIsBusyIsAskedAgainWhenItSays(t *testing.T) {
	s := &stub{links: 600, total: -1, answer: map[int][]stubbed{1: {{status: 503}, {429, "7", ""}, {500, "soon", ""}}, 2: {{502, "0", ""}}}}
	_, n, err := s.fetch(t)
	expect.That(t, err == nil && n == 600, "got %d, %v", n, err)
	expect.Slices(t, s.waits, []time.Duration{time.Second, 7 * time.Second, 4 * time.Second, time.Second})
}

func TestWhatEndsAFetch(t *testing.T) {
	busy := make([]stubbed, 10)
	for i := range busy {
		busy[i] = stubbed{status: 503}
	}
	for name, c := range map[string]struct {
		s        *stub
		want     string
		requests int
	}{
		"a key that is wrong":            {&stub{answer: map[int][]stubbed{1: {{401, "", `{"detail":"Provided API key does not exist or is invalid"}`}}}}, "does not take the key: it answered 401 Unauthorized (Provided API key", 1},
		"busy for long":                  {&stub{answer: map[int][]stubbed{1: busy}}, "it answered 503", 6},
		"a wait of an hour":              {&stub{answer: map[int][]stubbed{1: {{429, "3600", ""}}}}, "asks to wait for 1h0m0s", 1},
		"another server":                 {&stub{answer: map[int][]stubbed{1: {{200, "", "<html>"}}}}, "is it a Shlink server", 1},
		"no such path":                   {&stub{answer: map[int][]stubbed{1: {{404, "", ""}}}}, "is it a Shlink server", 1},
		"another page":                   {&stub{answer: map[int][]stubbed{1: {{200, "", `{"shortUrls":{"data":[{}],"pagination":{"currentPage":3,"pagesCount":3,"totalItems":3}}}`}}}}, "page 3 instead of 1", 1},
		"links that come":                {&stub{links: 600, total: 601}, "says that it has 601 links, and 600 came", 2},
		"links that go":                  {&stub{links: 600, total: 599}, "says that it has 599 links, and 600 came", 2},
		"pages that end before the last": {&stub{answer: map[int][]stubbed{1: {{200, "", `{"shortUrls":{"data":[],"pagination":{"currentPage":1,"pagesCount":9,"totalItems":3}}}`}}}}, "says that it has 3 links, and 0 came", 1},
		"a page without an end":          {&stub{answer: map[int][]stubbed{1: {{200, "", strings.Repeat("x", maxPageBytes+1)}}}}, "more than 16 MiB", 1},
	} {
		_, _, err := c.s.fetch(t)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: got %v, want %s", name, err, c.want)
		expect.Equal(t, len(c.s.requests), c.requests, name)
		expect.That(t, err == nil || !strings.Contains(err.Error(), "key\n") && !strings.Contains(err.Error(), "X-Api-Key"), "%s: the error has the key", name)
	}
}

// The key goes to the server that was named, and to no other.
func TestARedirectToAnotherServerIsNotFollowed(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusFound)
	}))
	defer here.Close()
	from, err := New(here.URL, "key", "shunt/test", true)
	expect.OK(t, err)
	_, err = from.Fetch(t.Context(), new(bytes.Buffer), func(int64, int64) {})
	expect.That(t, err != nil && strings.Contains(err.Error(), "it redirects to http://127.0.0.1") && asked == 0, "got %v after %d requests", err, asked)
}

func TestAddressesThatAreNone(t *testing.T) {
	for address, want := range map[string]string{
		"shlink.example": "must be the address", "http://shlink.example": "must begin with https://", "ftp://shlink.example": "must begin with https://",
		"https://a:b@shlink.example": "no user", "https://shlink.example/?a=b": "must be the address", "https://": "must be the address",
	} {
		_, err := New(address, "key", "shunt/test", false)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v", address, err)
	}
	_, err := New("https://shlink.example", " \n", "shunt/test", false)
	expect.That(t, err != nil && strings.Contains(err.Error(), "--key-file"), "without a key: got %v", err)
	s, err := New("https://shlink.example/links/rest/", "key", "shunt/test", false)
	expect.That(t, err == nil && s.origin == "https://shlink.example/links", "with a path: got %v, %v", s, err)
}

// always answers each request alike.
type always struct {
	status int
	body   []byte
	asked  int
}

func (a *always) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked++
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// FuzzFetch has any answers of a server: the fetching ends, and without an error all that was written are pages with
// the links that were counted.
func FuzzFetch(f *testing.F) {
	for _, body := range []string{
		`{"shortUrls":{"data":[{"shortCode":"a"}],"pagination":{"currentPage":1,"pagesCount":1,"itemsPerPage":500,"totalItems":1}}}`,
		`{"shortUrls":{"data":[],"pagination":{"currentPage":1,"pagesCount":9,"totalItems":0}}}`,
		`{"shortUrls":{"data":[{},[],1,"x",null],"pagination":{"currentPage":1,"pagesCount":1,"totalItems":5}}}`,
		`{"shortUrls":{"data":null}}`, `{"detail":"no","status":500}`, `[]`, ``,
	} {
		f.Add(http.StatusOK, []byte(body))
		f.Add(http.StatusTooManyRequests, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		s, err := New("https://s.example", "key", "shunt/test", false)
		expect.OK(t, err)
		answers := &always{status: status, body: body}
		s.client = &http.Client{Transport: answers}
		s.wait = func(context.Context, time.Duration) error { return nil }
		var b bytes.Buffer
		links, err := s.Fetch(t.Context(), &b, func(int64, int64) {})
		expect.That(t, answers.asked <= attempts+1, "asked %d times", answers.asked)
		if err != nil {
			return
		}
		n := int64(0)
		for in := json.NewDecoder(&b); ; {
			var p page
			err := in.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			expect.MustThat(t, err == nil, "wrote what is no page: %v", err)
			n += int64(len(p.ShortURLs.Data))
		}
		expect.Equal(t, n, links, "links of %q", body)
	})
}
