package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A link may be blocked, expired and exhausted at once. The first of these decides what everybody
// is told.

func TestARedirectAPreviewAQRCodeAndTheStateAgree(t *testing.T) {
	st := newSite(t, func(o *Options) { o.Blocks = openBlockFile(t, writeTo(t, "list", []byte("b.example\n")), o.Logger) })
	host := map[bool]string{false: "a.example", true: "b.example"}
	if _, err := st.targets.Blocked.Replace(nil); err != nil { // until the links are made
		t.Fatal(err)
	}
	cases := []struct {
		blocked, expired, exhausted bool
		status                      int // of the redirect, preview and QR code
		state                       string
		page                        string // in the page of all three
	}{
		{false, false, false, 302, "active", ""},
		{false, false, true, 410, "exhausted", "limit of uses"},
		{false, true, false, 410, "expired", "expired"},
		{false, true, true, 410, "expired", "expired"},
		{true, false, false, 403, "blocked", "block"},
		{true, false, true, 403, "blocked", "block"},
		{true, true, false, 403, "blocked", "block"},
		{true, true, true, 403, "blocked", "block"},
	}
	for i, c := range cases {
		fields := fmt.Sprintf(`"url":"http://%s/","alias":"c%d","forward_query":true`, host[c.blocked], i)
		if c.expired {
			fields += `,"expires_at":"2026-01-02T03:05:00Z"`
		}
		if c.exhausted {
			fields += `,"max_hits":1`
		}
		st.shorten("{" + fields + "}")
		if c.exhausted {
			st.get(fmt.Sprintf("/c%d", i), browser)
		}
	}
	st.now.Add((2 * time.Minute).Milliseconds())
	if _, err := st.targets.Blocked.Replace([]byte("b.example\n")); err != nil {
		t.Fatal(err)
	}
	tooLong := "?" + strings.Repeat("x", 8<<10)
	for i, c := range cases {
		code := fmt.Sprintf("c%d", i)
		what := fmt.Sprintf("blocked=%v expired=%v exhausted=%v", c.blocked, c.expired, c.exhausted)
		st.wantState(code, c.state)
		for _, suffix := range []string{"", "+", ".svg", ".png"} {
			want := c.status
			if suffix != "" && want == 302 {
				want = 200
			}
			if r := st.get("/"+code+suffix, browser); r.status != want || !strings.Contains(r.body, c.page) {
				t.Errorf("%s: GET /%s%s: got %d %s, want %d and a page with %q", what, code, suffix, r.status, r.body, want, c.page)
			}
		}
		if r := send(t, st.publicAt, "POST", requestText("POST", "/"+code, "")); r.status != 405 {
			t.Errorf("%s: POST: got %d, want 405 before all else", what, r.status)
		}
		want := c.status
		if !c.blocked && !c.expired { // a query that is too long counts before the cap
			want = 414
		}
		if r := st.get("/"+code+tooLong, browser); r.status != want {
			t.Errorf("%s: a query that is too long: got %d, want %d", what, r.status, want)
		}
	}
}
