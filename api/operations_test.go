package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/engine/expect"
)

// operations lets a test play the operation: it gets the context and the folder of each one, and
// decides its progress and result.
type operations struct {
	begun chan string // the folder
	end   chan error
	ended chan struct{}
}

func newOperations() *operations {
	return &operations{begun: make(chan string, 1), end: make(chan error, 1), ended: make(chan struct{}, 1)}
}

func (o *operations) do(ctx context.Context, dir string, say func(string)) (any, error) {
	defer func() { o.ended <- struct{}{} }()
	say("copying <" + dir + ">")
	o.begun <- dir
	select {
	case err := <-o.end:
		return map[string]string{"dir": dir}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// backup plays a backup; one for a stream is taken by the client before it ends.
func (o *operations) backup(ctx context.Context, order BackupOrder, r Report) (any, error) {
	if order.Stream {
		if err := r.Take(ctx, map[string]string{"dir": "/data/backup.stream"}); err != nil {
			o.ended <- struct{}{}
			return nil, err
		}
	}
	return o.do(ctx, order.Dir+order.To, r.Say)
}

func (o *operations) options(options *Options) {
	options.Operations = Operations{Backup: o.backup, Check: func(ctx context.Context, say func(string)) (any, error) { return o.do(ctx, "", say) }}
}

// ask starts an operation on the socket of local commands.
func ask(t testing.TB, st *site, dial func() (net.Conn, error), path, body string, header ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1"+path, strings.NewReader(body))
	expect.OK(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
	t.Cleanup(transport.CloseIdleConnections)
	response, err := transport.RoundTrip(request)
	expect.OK(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// askFree starts an operation once the previous one, which has ended, has given its place back,
// which is after its answer.
func askFree(t *testing.T, st *site, path string) (response *http.Response) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		response = ask(t, st, st.localAt.Dial, path, "")
		if response.StatusCode == http.StatusOK {
			return response
		}
		_ = response.Body.Close()
		expect.MustThat(t, !time.Now().After(deadline), "POST %s: still %d a minute after the last operation", path, response.StatusCode)
	}
}

// next returns the next value from a channel of operations, within a minute.
func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatal("nothing came for a minute")
	}
	return v
}

func lastLine(t *testing.T, r io.Reader) (progress []string, last map[string]any) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		last = nil
		expect.OK(t, json.Unmarshal(lines.Bytes(), &last), "%q", lines.Text())
		if said, ok := last["progress"].(string); ok {
			progress = append(progress, said)
		}
	}
	return progress, last
}

func TestAnOperationReportsProgressAndResult(t *testing.T) {
	t.Parallel()
	o := newOperations()
	st := newSite(t, o.options)
	response := ask(t, st, st.localAt.Dial, "/backup", `{"dir":"/backups/a"}`)
	dir := next(t, o.begun)
	expect.MustThat(t, dir == "/backups/a" && response.StatusCode == 200, "got %q, %d", dir, response.StatusCode)
	first, err := bufio.NewReader(response.Body).ReadString('\n') // another reader takes the rest
	expect.That(t, err == nil && first == `{"progress":"copying \u003c/backups/a\u003e"}`+"\n", "got %q, %v", first, err)
	busy := ask(t, st, st.localAt.Dial, "/check", "")
	text, _ := io.ReadAll(busy.Body)
	expect.That(t, busy.StatusCode == 409 && strings.Contains(string(text), `"busy"`), "during another one: got %d %s", busy.StatusCode, text)
	o.end <- nil
	next(t, o.ended)
	for _, c := range []struct {
		err  error
		want string
	}{{nil, `map[result:map[dir:]]`}, {errors.New("disk is full"), "map[error:disk is full]"}} {
		o.end <- c.err
		_, last := lastLine(t, askFree(t, st, "/check").Body)
		next(t, o.begun)
		next(t, o.ended)
		expect.Equal(t, fmt.Sprint(last), c.want)
	}
}

func TestAnOperationEndsWithItsClient(t *testing.T) {
	t.Parallel()
	expect.Long(t)
	o := newOperations()
	st := newSite(t, o.options)
	response := ask(t, st, st.localAt.Dial, "/check", "")
	next(t, o.begun)
	expect.OK(t, response.Body.Close())
	next(t, o.ended)

	response = askFree(t, st, "/check")
	next(t, o.begun)
	go func() { _ = st.Shutdown(context.Background()) }()
	next(t, o.ended)
	_, last := lastLine(t, response.Body)
	expect.That(t, last["error"] == context.Canceled.Error(), "at shutdown: got %v", last)
}

func TestOperationsAreOnTheSocketOnlyAndForAdmins(t *testing.T) {
	o := newOperations()
	st := newSite(t, o.options)
	expect.OK(t, expect.Err(st.accounts.AddUser(account.UserDraft{Email: "b@example.org", Role: account.RoleMember})))
	for name, c := range map[string]struct {
		dial       func() (net.Conn, error)
		path, body string
		header     []string
		want       int
	}{
		"on the public address": {st.publicAt.Dial, "/backup", `{"dir":"/a"}`, []string{"Authorization", "Bearer " + st.token}, 404},
		"check there":           {st.publicAt.Dial, "/check", "", []string{"Authorization", "Bearer " + st.token}, 404},
		"as a member":           {st.localAt.Dial, "/backup", `{"dir":"/a"}`, []string{"Shunt-User", "b@example.org"}, 403},
		"a relative folder":     {st.localAt.Dial, "/backup", `{"dir":"a"}`, nil, 422},
		"no folder":             {st.localAt.Dial, "/backup", `{}`, nil, 422},
		"a folder with a NUL":   {st.localAt.Dial, "/backup", `{"dir":"/a\u0000b"}`, nil, 422},
		"a folder of 5000":      {st.localAt.Dial, "/backup", `{"dir":"/` + strings.Repeat("a", 5000) + `"}`, nil, 422},
		"two places":            {st.localAt.Dial, "/backup", `{"dir":"/a","to":"/b"}`, nil, 422},
		"a relative series":     {st.localAt.Dial, "/backup", `{"to":"b"}`, nil, 422},
		"a negative keep":       {st.localAt.Dial, "/backup", `{"to":"/b","keep":-1}`, nil, 422},
		"a field of no meaning": {st.localAt.Dial, "/backup", `{"to":"/b","kept":1}`, nil, 422},
		"nothing to be taken":   {st.localAt.Dial, "/backup/taken", "", nil, 404},
		"taken by a member":     {st.localAt.Dial, "/backup/taken", "", []string{"Shunt-User", "b@example.org"}, 403},
		"taken from elsewhere":  {st.publicAt.Dial, "/backup/taken", "", []string{"Authorization", "Bearer " + st.token}, 404},
		"no JSON":               {st.localAt.Dial, "/backup", `dir=/a`, nil, 400},
	} {
		response := ask(t, st, c.dial, c.path, c.body, c.header...)
		text, _ := io.ReadAll(response.Body)
		expect.Equal(t, response.StatusCode, c.want, "%s %s", name, text)
	}
	expect.That(t, len(o.begun) == 0, "an operation was started")
}

func TestABackupForAStreamWaitsUntilItIsTaken(t *testing.T) {
	t.Parallel()
	o := newOperations()
	st := newSite(t, o.options)
	response := ask(t, st, st.localAt.Dial, "/backup", `{"stream":true}`)
	lines := bufio.NewReader(response.Body)
	made, err := lines.ReadString('\n')
	expect.MustThat(t, err == nil && made == `{"made":{"dir":"/data/backup.stream"}}`+"\n" && len(o.begun) == 0, "got %q, %v", made, err)
	expect.Equal(t, ask(t, st, st.localAt.Dial, "/backup/taken", "").StatusCode, http.StatusNoContent)
	next(t, o.begun)
	o.end <- nil
	_, last := lastLine(t, lines)
	expect.That(t, last["result"] != nil, "got %v", last)
	next(t, o.ended)

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // its place is free after its answer
		response = ask(t, st, st.localAt.Dial, "/backup", `{"stream":true}`)
		if response.StatusCode == http.StatusOK || time.Now().After(deadline) {
			break
		}
	}
	expect.OK(t, expect.Err(bufio.NewReader(response.Body).ReadString('\n')))
	expect.OK(t, response.Body.Close())
	next(t, o.ended) // because its client has gone
	expect.That(t, len(o.begun) == 0, "it went on although nobody took it")
}

func TestAServerWithoutOperationsOffersNone(t *testing.T) {
	st := newSite(t, nil)
	expect.Equal(t, ask(t, st, st.localAt.Dial, "/backup", `{"dir":"/a"}`).StatusCode, 404)
}

func TestNoOperationBeginsBeforeTheLinksAreLoaded(t *testing.T) {
	o := newOperations()
	st := unloadedSite(t, o.options)
	expect.Equal(t, ask(t, st, st.localAt.Dial, "/check", "").StatusCode, 503)
}
