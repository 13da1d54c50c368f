package shlink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"shunt/cmd/shunt/console"
)

// Limits of what a server may send.
const (
	pageItems    = 500
	maxPageBytes = 16 << 20
	maxLinks     = 100_000_000

	attempts       = 6
	firstWait      = time.Second
	longestWait    = 2 * time.Minute // that a Retry-After may ask for
	requestTimeout = time.Minute
	maxRedirects   = 5
)

// A Server is a Shlink server.
type Server struct {
	origin string
	key    string
	client *http.Client
	agent  string
	wait   func(context.Context, time.Duration) error // between attempts
}

// New returns the server at an address such as https://shlink.example, perhaps with a path before /rest. It must be
// HTTPS unless allowHTTP is set. agent is the User-Agent of requests.
func New(address, key, agent string, allowHTTP bool) (*Server, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must be the address of a Shlink server, such as https://shlink.example")
	case u.User != nil:
		return nil, errors.New("must have no user and no password")
	case u.Scheme == "http" && !allowHTTP:
		return nil, errors.New("must begin with https://, because the key travels there; --allow-http lets it travel unencrypted")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("must begin with https://")
	case strings.TrimSpace(key) == "":
		return nil, errors.New("needs a key of the API: name a file that has it with --key-file, or set SHUNT_SOURCE_KEY")
	}
	origin := strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/rest")
	return &Server{origin: origin, key: strings.TrimSpace(key), agent: agent, wait: sleep, client: &http.Client{Timeout: requestTimeout, CheckRedirect: sameServer}}, nil
}

// sameServer follows no redirect to another server.
func sameServer(next *http.Request, before []*http.Request) error {
	switch first := before[0].URL; {
	case next.URL.Host != first.Host || next.URL.Scheme != first.Scheme:
		return fmt.Errorf("it redirects to %s://%s, and the key is for %s alone: name that address if it is the server", next.URL.Scheme, next.URL.Host, first.Host)
	case len(before) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// page is an answer with links.
type page struct {
	ShortURLs struct {
		Data       []json.RawMessage `json:"data"`
		Pagination struct {
			CurrentPage int   `json:"currentPage"`
			PagesCount  int   `json:"pagesCount"`
			TotalItems  int64 `json:"totalItems"`
		} `json:"pagination"`
	} `json:"shortUrls"`
}

// Fetch writes the pages of all links, a line each, and returns how many links there are. progress is called after each
// page. After an error, what was written is not complete.
func (s *Server) Fetch(ctx context.Context, w io.Writer, progress func(links, all int64)) (links int64, err error) {
	for number := 1; ; number++ {
		p, err := s.page(ctx, number)
		if err != nil {
			return links, fmt.Errorf("%s: %w", s.origin, err)
		}
		at := &p.ShortURLs.Pagination
		links += int64(len(p.ShortURLs.Data))
		switch {
		case links > maxLinks:
			return links, fmt.Errorf("%s: it has more than %d links", s.origin, maxLinks)
		case at.CurrentPage != number && len(p.ShortURLs.Data) > 0:
			return links, fmt.Errorf("%s: it answered with page %d instead of %d", s.origin, at.CurrentPage, number)
		}
		if err := write(w, p); err != nil {
			return links, err
		}
		progress(links, at.TotalItems)
		if number < at.PagesCount && len(p.ShortURLs.Data) > 0 {
			continue
		}
		if links != at.TotalItems {
			return links, fmt.Errorf("%s: it says that it has %d links, and %d came: links were made or deleted meanwhile; run it again", s.origin, at.TotalItems, links)
		}
		return links, nil
	}
}

// write writes the links of a page.
func write(w io.Writer, p *page) error {
	b := []byte(`{"shortUrls":{"data":[`)
	for i, item := range p.ShortURLs.Data {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	_, err := w.Write(append(b, "]}}\n"...))
	return err
}

// page asks for a page until it comes.
func (s *Server) page(ctx context.Context, number int) (*page, error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		p, err := s.ask(ctx, number)
		var again *repeatable
		if err == nil || !errors.As(err, &again) || attempt == attempts || ctx.Err() != nil {
			return p, err
		}
		pause := max(wait, again.after)
		if pause > longestWait {
			return nil, fmt.Errorf("%w; it asks to wait for %v, and that is too long", err, again.after)
		}
		if err := s.wait(ctx, pause); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// repeatable is an error that another attempt may not meet.
type repeatable struct {
	error
	after time.Duration // that the server asks for
}

func (r *repeatable) Unwrap() error { return r.error }

// ask asks for a page once.
func (s *Server) ask(ctx context.Context, number int) (*page, error) {
	query := url.Values{"page": {strconv.Itoa(number)}, "itemsPerPage": {strconv.Itoa(pageItems)}, "orderBy": {"shortCode-ASC"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.origin+"/rest/v3/short-urls?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", s.key)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", s.agent)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, connectionError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPageBytes+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, statusError(resp, body)
	case err != nil:
		return nil, &repeatable{error: err}
	case len(body) > maxPageBytes:
		return nil, fmt.Errorf("a page has more than %d MiB", maxPageBytes>>20)
	}
	p := new(page)
	if err := json.Unmarshal(bytes.TrimSpace(body), p); err != nil || p.ShortURLs.Data == nil {
		return nil, errors.New("its answer is no page of short URLs: is it a Shlink server, of version 3 or later?")
	}
	return p, nil
}

// connectionError leaves the address out of an error, and tells apart what another attempt may not meet.
func connectionError(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		timeout := of.Timeout()
		if err = of.Err; strings.Contains(err.Error(), "redirects") && !timeout {
			return err
		}
	}
	return &repeatable{error: err}
}

// statusError is the error of an answer that has no page.
func statusError(resp *http.Response, body []byte) error {
	err := fmt.Errorf("it answered %s%s", console.Printable(resp.Status), console.Printable(detailOf(body)))
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("it does not take the key: %w", err)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w; is it a Shlink server, of version 3 or later?", err)
	case code == http.StatusTooManyRequests, code >= 500:
		return &repeatable{error: err, after: retryAfter(resp.Header.Get("Retry-After"))}
	}
	return err
}

// detailOf returns what the body of an error says, if it is short.
func detailOf(body []byte) string {
	var of struct {
		Detail string `json:"detail"`
	}
	const longest = 200
	if json.Unmarshal(body, &of) != nil || of.Detail == "" || len(of.Detail) > longest {
		return ""
	}
	return " (" + of.Detail + ")"
}

// retryAfter reads a Retry-After: seconds, or a time.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
