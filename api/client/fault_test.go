package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/api/client"
	"shunt/engine/expect"
)

// serving returns a client of a server over a real socket that answers with handle, and how many
// requests it has had.
func serving(t *testing.T, handle http.HandlerFunc) (*client.Client, *atomic.Int64) {
	t.Helper()
	requests := new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, "shunt_secret", &client.Options{
		Transport: s.Client().Transport, Retry: client.Retry{Attempts: 2, BaseWait: 1},
	})
	expect.OK(t, err)
	return c, requests
}

// body is a handler that answers with text, and then, if cut, breaks the connection off.
func body(text string, cut bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text)
		if cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server got %s %s with %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c, requests := serving(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
		})
		err := creates(t.Context(), c)
		var problem *client.Problem
		expect.That(t, errors.As(err, &problem) && problem.Status == status && problem.Kind == "" && requests.Load() == 1,
			"%d: got %v after %d requests, want a problem of unknown kind after one", status, err, requests.Load())
	}
}

func TestABrokenAnswerIsAnError(t *testing.T) {
	huge := `{"code":"` + strings.Repeat("a", 33<<20) + `"}`
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"cut off":                     {body(someLink[:20], true), "unexpected EOF"},
		"cut off where JSON is whole": {body(someLink, true), "unexpected EOF"},
		"half":                        {body(someLink[:20], false), "unexpected end of JSON"},
		"too large":                   {body(huge, false), "more than 33554432 bytes"},
		"not JSON":                    {body("<h1>hello</h1>", false), "invalid character"},
		"empty":                       {body("", false), "unexpected end of JSON"},
		"of other types":              {body(`{"code":5}`, false), "cannot unmarshal"},
		"two values":                  {body(someLink+someLink, false), "after top-level value"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serving(t, c.handle)
			link, err := client.Link(t.Context(), "a")
			expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && link.Code == "" && link.Raw == nil,
				"got %.100q, %v, want no link and %q", link.Code, err, c.want)
		})
	}
}

func TestAnErrorWithoutAProblemIsNamedByItsStatus(t *testing.T) {
	for name, text := range map[string]string{
		"HTML": "<h1>Bad Gateway</h1>", "other JSON": `{"error":"no"}`, "nothing": "", "too much": strings.Repeat(" ", 2<<20) + `{"code":"invalid"}`,
	} {
		c, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, text)
		})
		err := reads(t.Context(), c)
		var problem *client.Problem
		const want = "the server answered 502 Bad Gateway; is that address a shunt server?"
		expect.That(t, errors.As(err, &problem) && problem.Status == 502 && problem.Kind == "" && err.Error() == want,
			"%s: got %v, want %s", name, err, want)
	}
}

func TestAnExportIsWholeOrEndsWithAnError(t *testing.T) {
	const line = someLink + "\n"
	gone := errors.New("any")
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		links  int
		want   error // gone: whatever it is
		text   string
	}{
		"whole":                {body(line+line, false), 2, nil, ""},
		"without a last break": {body(line+someLink, false), 2, nil, ""},
		"with blank lines":     {body("\n"+line+"\r\n\n"+line, false), 2, nil, ""},
		"of nothing":           {body("", false), 0, nil, ""},
		"cut off":              {body(line, true), 1, io.ErrUnexpectedEOF, "not whole"},
		"cut off in a line":    {body(line+line[:9], true), 1, io.ErrUnexpectedEOF, "not whole"},
		"half a line":          {body(line+line[:9], false), 1, gone, "not whole: a line is not JSON"},
		"a problem":            {body(line+`{"type":"urn:shunt:problem:overloaded","detail":"it ends","status":503,"code":"overloaded"}`+"\n", true), 1, client.ErrOverloaded, "not whole: it ends (503 overloaded)"},
		"a line without end":   {body(line+`"`+strings.Repeat("x", 2<<20), false), 1, gone, "more than 1048576 bytes"},
		"a line of no link":    {body(line+"5\n", false), 1, gone, "cannot unmarshal"},
		"no stream":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 0, gone, "not a stream: status 204"},
		"refused":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 0, gone, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			exporter, _ := serving(t, c.handle)
			links, ended := 0, error(nil)
			for link, err := range exporter.Export(t.Context(), client.ExportQuery{}) {
				expect.That(t, ended == nil, "after the error %v comes %v, %v", ended, link, err)
				if ended = err; err == nil {
					links++
				}
			}
			expect.That(t, links == c.links && (ended == nil) == (c.want == nil) && (c.want == gone || errors.Is(ended, c.want)) &&
				(ended == nil || strings.Contains(ended.Error(), c.text)), "got %d links, %v, want %d, %v %s", links, ended, c.links, c.want, c.text)
		})
	}
}

func TestAConsumerThatStopsClosesTheStream(t *testing.T) {
	gone := make(chan string, 1)
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[bool]string{true: someLink + "\n", false: "data:{}\n\n"}[r.URL.Path == "/api/v1/export"])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.URL.Path
	})
	for range c.Live(t.Context(), "a") {
		break
	}
	expect.Equal(t, <-gone, "/api/v1/stats/a/live")
	for range c.Export(t.Context(), client.ExportQuery{}) {
		break
	}
	expect.Equal(t, <-gone, "/api/v1/export")
}

func TestTheContextEndsAStream(t *testing.T) {
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"hits\":2,\"unique\":1}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for figures, err := range c.Live(ctx, "a") {
		cancel()
		if err == nil {
			got = append(got, fmt.Sprint(figures))
		} else if got = append(got, "the end"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's end", err)
		}
	}
	expect.Equal(t, strings.Join(got, ", "), "{2 1}, the end")
}

func TestPagesAreFetchedAsTheyAreWanted(t *testing.T) {
	page := func(w http.ResponseWriter, r *http.Request) {
		n, _ := fmt.Sscanf(r.FormValue("cursor"), "c%d", new(int))
		switch cursor := r.FormValue("cursor"); {
		case r.FormValue("tag") == "circle":
			fmt.Fprintf(w, `{"data":[{"code":"x"}],"next_cursor":"c1"}`)
		case n == 0:
			fmt.Fprint(w, `{"data":[{"code":"a"},{"code":"b"}],"next_cursor":"c1"}`)
		case cursor == "c1":
			fmt.Fprint(w, `{"data":[],"next_cursor":"c2"}`)
		default:
			fmt.Fprint(w, `{"data":[{"code":"c"}],"next_cursor":null}`)
		}
	}
	for name, c := range map[string]struct {
		query    client.LinksQuery
		stopAt   string
		codes    string
		requests int64
		fails    bool
	}{
		"all":                           {client.LinksQuery{}, "", "abc", 3, false},
		"only some of the first page":   {client.LinksQuery{}, "a", "a", 1, false},
		"all of the first page":         {client.LinksQuery{}, "b", "ab", 1, false},
		"a server that goes in circles": {client.LinksQuery{Tag: "circle"}, "", "xx", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			lister, requests := serving(t, page)
			codes, failed := "", false
			for link, err := range lister.Links(t.Context(), c.query) {
				codes += link.Code
				failed = err != nil
				if link.Code == c.stopAt {
					break
				}
			}
			expect.That(t, codes == c.codes && requests.Load() == c.requests && failed == c.fails,
				"got %s by %d requests, failed: %v; want %s by %d, %v", codes, requests.Load(), failed, c.codes, c.requests, c.fails)
		})
	}
}

func TestChangesAreReadInPagesAlsoASecondTime(t *testing.T) {
	pages := map[string]string{
		"":  `{"data":[{"id":"9","action":"link.edited","actor":{"email":"a@b.c","via":"token"},"before":{"title":""},"x":1}],"next_cursor":"9"}`,
		"9": `{"data":[],"next_cursor":"5"}`, "5": `{"data":[{"id":"4","counts":{"created":2}}],"next_cursor":null}`,
	}
	c, requests := serving(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, pages[r.FormValue("cursor")]) })
	list := c.Audit(t.Context(), client.AuditQuery{})
	for range 2 {
		var got []client.AuditEntry
		for entry, err := range list {
			expect.OK(t, err)
			got = append(got, entry)
		}
		expect.That(t, len(got) == 2 && got[0].Actor.Email == "a@b.c" && string(got[0].Before) == `{"title":""}` &&
			strings.Contains(string(got[0].Raw), `"x":1`) && got[1].Counts.Created == 2, "got %+v", got)
	}
	expect.Equal(t, requests.Load(), 6, "requests")
}

func TestOneClientServesManyGoroutinesOverConnectionsThatAreKept(t *testing.T) {
	var mu sync.Mutex
	connections := map[string]bool{}
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/gone") {
			w.WriteHeader(404)
		}
		_, _ = io.WriteString(w, someLink)
	})
	for i := range 50 { // one after the other: whether an answer is drained shows in how many connections there are
		_, err := c.Link(t.Context(), []string{"a", "gone"}[i%2])
		expect.That(t, (err == nil) == (i%2 == 0), "%v", err)
	}
	mu.Lock()
	expect.Equal(t, len(connections), 1, "50 calls took connections")
	mu.Unlock()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 20 {
				expect.NoError(t, creates(t.Context(), c))
			}
		})
	}
	calls.Wait()
}

func TestTheTokenIsInNoTextOfTheClient(t *testing.T) {
	c, _ := serving(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	nobody, err := client.New("http://127.0.0.1:1", "shunt_secret", &client.Options{
		Retry: client.Retry{Attempts: 1}, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errCut
		}},
	})
	expect.OK(t, err)
	var texts bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		fmt.Fprintf(&texts, verb+"\n", c)
	}
	for _, err := range []error{reads(t.Context(), c), creates(t.Context(), c), reads(t.Context(), nobody)} {
		fmt.Fprintf(&texts, "%v %+v %#v\n", err, err, err)
	}
	expect.That(t, !strings.Contains(texts.String(), "shunt_secret") && texts.Len() >= 200, "got %s", &texts)
}
