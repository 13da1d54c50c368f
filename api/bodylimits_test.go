package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/links"
	"shunt/engine/expect"
)

func TestAnEndpointMayAcceptALargerBodyFromKnownCallers(t *testing.T) {
	st := newSite(t, nil)
	*st.bodyLimits = *newBodyLimits(st.auth, []endpoint{
		{method: "POST", path: "/shorten", scope: account.LinksWrite, maxBody: 128 << 10}, {method: "POST", path: "/tokens", maxBody: 100},
	}, nil)
	body := `{"url":"http://a/"}` + strings.Repeat(" ", 100<<10)
	for name, c := range map[string]struct {
		token, path, body string
		want              int
	}{
		"more than usual":              {st.token, "/shorten", body, 201},
		"more than that":               {st.token, "/shorten", body + body, 413},
		"more than usual, wrong token": {"shunt_wrong", "/shorten", body, 413},
		"without the scope":            {st.member("ann@example.com", account.LinksRead), "/shorten", body, 413},
		"elsewhere":                    {st.token, "/links/x", body, 413},
		"less than usual":              {st.token, "/tokens", body[:101], 413},
	} {
		st.callAs(c.token, "POST", c.path, c.body).expect(t, name, c.want)
	}
}

// largeHead returns the head of a bulk of the given number of bytes; 0: in chunks.
func largeHead(token string, bytes int) string {
	length := "Transfer-Encoding: chunked"
	if bytes > 0 {
		length = fmt.Sprintf("Content-Length: %d", bytes)
	}
	return "POST /api/v1/shorten/bulk HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n" +
		length + "\r\n\r\n"
}

func TestOneMemberDoesNotKeepTheAdminFromImporting(t *testing.T) {
	const (
		share   = 8  // of the 32 places for large bodies
		senders = 64 // enough to fill all places
		size    = 200 << 10
	)
	st := newSite(t, nil)
	addr := st.realAddress()
	greedy := st.member("ann@example.com")
	answers := make(chan int, senders)
	for range senders {
		_, r := dial(t, addr, largeHead(greedy, size)+"[")
		go func() {
			if response, err := http.ReadResponse(r, nil); err == nil {
				answers <- response.StatusCode
			}
		}()
	}
	for range senders - share {
		expect.Equal(t, <-answers, 503, "a body beyond the share")
	}
	body := `{"code":"c","url":"http://a/"}` + strings.Repeat("\n", size)
	_, r := dial(t, addr, requestText("POST", "/api/v1/import", body, bearer(st.token), "Content-Type: application/x-ndjson"))
	readReply(t, r, "POST").expect(t, "the admin's import", 200)
}

// A caller with a session may send as much as one with a token. A caller with an invalid session
// may send no more than one without any.
func TestALargeBodyNeedsATokenOrSession(t *testing.T) {
	st := newSite(t, nil)
	st.person("boss@example.com", account.RoleAdmin)
	st.person("ann@example.com", account.RoleMember)
	boss, ann := st.logIn("boss@example.com"), st.logIn("ann@example.com")
	var items []string
	for i := range 500 {
		items = append(items, fmt.Sprintf(`{"code":"c%d","url":"http://a/%s"}`, i, strings.Repeat("x", 200)))
	}
	large := "[" + strings.Join(items, ",") + "]"
	for name, c := range map[string]struct {
		path, cookie string
		want         int
	}{
		"an admin's import":             {"/import", boss, 200},
		"a member's import":             {"/import", ann, 413},
		"an import, invalid session":    {"/import", "Cookie: shunt_session=x", 413},
		"a member's bulk":               {"/shorten/bulk", ann, 200},
		"a bulk without any credential": {"/shorten/bulk", "Cookie: a=b", 413},
	} {
		body := large
		if c.path != "/import" {
			body = strings.ReplaceAll(large, `"code"`, `"alias"`)
		}
		send(t, st.publicAt, "POST", requestText("POST", "/api/v1"+c.path, body, c.cookie, ownPage, "Content-Type: application/json")).expect(t, name, c.want)
	}
	var socketBody bulkAnswer
	r := send(t, st.localAt, "POST", requestText("POST", "/api/v1/import", large, "Content-Type: application/json"))
	err := json.Unmarshal([]byte(r.body), &socketBody)
	expect.That(t, err == nil && r.status == 200 && len(socketBody.Results) == 500, "on the socket: got %d %.200s, %v", r.status, r.body, err)
	tooLarge := send(t, st.localAt, "POST", requestText("POST", "/api/v1/import", large+strings.Repeat(" ", links.MaxBulkBytes), "Content-Type: application/json"))
	tooLarge.expect(t, "beyond the limit, on the socket", 413, fmt.Sprint(links.MaxBulkBytes))
}
