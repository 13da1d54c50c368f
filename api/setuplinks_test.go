package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine/expect"
)

// setupLink makes a setup link over the socket of local commands, and returns its code.
func (st *site) setupLink(body string) (link setupLinkObject, code string) {
	st.t.Helper()
	response := ask(st.t, st, st.localAt.Dial, "/setup-links", body)
	text, err := io.ReadAll(response.Body)
	expect.NoError(st.t, err)
	expect.MustThat(st.t, response.StatusCode == http.StatusCreated && response.Header.Get("Cache-Control") == "no-store",
		"got %d %s", response.StatusCode, text)
	expect.NoError(st.t, json.Unmarshal(text, &link))
	code, found := strings.CutPrefix(link.URL, "http://127.0.0.1:8080/_/setup?code=")
	expect.MustThat(st.t, found, "got %s, want the address of the page", link.URL)
	return link, st.secret(code)
}

func TestASetupLinkIsForTheUserThatIsNamed(t *testing.T) {
	st := newSite(t, nil)
	oldest, err := st.accounts.OldestAdmin()
	expect.NoError(t, err)
	ann := st.person("ann@example.com", account.RoleMember)
	for body, want := range map[string]account.User{
		`{}`: oldest, `{"user":null}`: oldest, fmt.Sprintf(`{"user":%d}`, ann.ID): ann,
	} {
		link, code := st.setupLink(body)
		u, err := st.accounts.LookUpSetupCode(code)
		expect.That(t, err == nil && u == want && link.User == want.ID && link.ExpiresAt.Equal(st.Server.now.Time().UTC().Add(time.Hour)),
			"%s: got %+v, %+v, %v, want one of user %d for an hour", body, link, u, err, want.ID)
	}
}

func TestSetupLinksAreMadeOnTheSocketOnly(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	admin := []string{"Authorization", "Bearer " + st.token}
	for name, c := range map[string]struct {
		dial   func() (net.Conn, error)
		path   string
		body   string
		header []string
		want   int
	}{
		"on the public address":  {st.publicAt.Dial, "/setup-links", `{}`, admin, 404},
		"there, for a user":      {st.publicAt.Dial, "/setup-links", `{"user":1}`, admin, 404},
		"on the admin address":   {st.adminAt.Dial, "/setup-links", `{}`, admin, 404},
		"as a member":            {st.localAt.Dial, "/setup-links", `{}`, []string{"Shunt-User", "ann@example.com"}, 403},
		"a user who is not":      {st.localAt.Dial, "/setup-links", `{"user":99}`, nil, 422},
		"user 0":                 {st.localAt.Dial, "/setup-links", `{"user":0}`, nil, 422},
		"user 1 + 2^32":          {st.localAt.Dial, "/setup-links", `{"user":4294967297}`, nil, 422},
		"a user by name":         {st.localAt.Dial, "/setup-links", `{"user":"ann@example.com"}`, nil, 422},
		"an unknown field":       {st.localAt.Dial, "/setup-links", `{"email":"ann@example.com"}`, nil, 422},
		"a query":                {st.localAt.Dial, "/setup-links?user=1", `{}`, nil, 422},
		"no JSON":                {st.localAt.Dial, "/setup-links", `user=1`, nil, 400},
		"another method, by GET": {st.localAt.Dial, "/setup-links/1", `{}`, nil, 404},
	} {
		response := ask(t, st, c.dial, c.path, c.body, c.header...)
		text, _ := io.ReadAll(response.Body)
		expect.That(t, response.StatusCode == c.want && !strings.Contains(string(text), "code="), "%s: got %d %s, want %d", name, response.StatusCode, text, c.want)
	}
}

// trySetup counts an attempt to use a setup code from addr, and reports whether it is allowed.
func (st *site) trySetup(addr string, right bool) bool {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, tcpAddr(addr), nil)
	err := st.limiter.MayTrySetup(&ctx)
	if err == nil && right {
		st.limiter.HasNotTriedSetup(&ctx)
	}
	return err == nil
}

func TestTriesOfSetupCodesAreLimitedAsLoginsAre(t *testing.T) {
	st, _ := floodSite(t)
	for range 100 {
		expect.MustThat(t, st.trySetup("192.0.2.1", true), "a right code was counted")
	}
	for n := range 6 {
		expect.Equal(t, st.trySetup("192.0.2.1", false), n < 5, "wrong code %d", n+1)
	}
	for _, name := range []string{"SETUP", "setup", "", "ann@example.com"} { // no name counts as a code
		expect.That(t, st.attempt("192.0.2.1", name), "a login as %q is refused after wrong codes", name)
	}
	expect.That(t, st.trySetup("192.0.2.2", false), "a code from another network is refused")
	for n := range 20 {
		st.attempt("192.0.2.3", fmt.Sprintf("nobody%d@example.com", n))
	}
	expect.That(t, !st.trySetup("192.0.2.3", false), "a network may try more codes after it has used up its logins")
	st.now.Add(3 * 60_000)
	expect.That(t, st.trySetup("192.0.2.1", false), "no try comes back after three minutes")
}
