package api

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestTheQueryIsPassedOnAsTheLinkAsksThroughEveryDoor(t *testing.T) {
	everyDoor(t, func(o *Options) { blocking(t, o, "http://shared.example/?go=bad\n") }, func(t *testing.T, st *site, dial func() net.Conn) {
		for _, way := range []string{"none", "append", "override", "keep"} {
			st.shorten(fmt.Sprintf(`{"url":"http://a/é?x=1&y=2#f","alias":"%s","query":"%[1]s","redirect_status":301}`, way))
			st.shorten(fmt.Sprintf(`{"url":"http://shared.example/?go=good","alias":"shared-%s","query":"%[1]s"}`, way))
		}
		for path, want := range map[string]string{
			"none?x=3": "301 http://a/%C3%A9?x=1&y=2#f", "append?x=3": "301 http://a/%C3%A9?x=1&y=2&x=3#f",
			"override?x=3": "301 http://a/%C3%A9?y=2&x=3#f", "keep?x=3&z=%22\"": "301 http://a/%C3%A9?x=1&y=2&z=%22%22#f",
			"override": "301 http://a/%C3%A9?x=1&y=2#f", "keep?": "301 http://a/%C3%A9?x=1&y=2#f",
			"shared-keep?go=bad": "302 http://shared.example/?go=good", "shared-override?go=bad": "403 ",
			"override?" + strings.Repeat("x", 8<<10): "414 ", "keep?x=" + strings.Repeat("x", 8<<10): "301 http://a/%C3%A9?x=1&y=2#f",
		} {
			got := answered(t, dial(), requestText("GET", "/"+path, "", browser))
			status, location, _ := strings.Cut(want, " ")
			if location != "" {
				location = "\r\nLocation: " + location + "\r\n"
			}
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 "+status+" ") && strings.Contains(got, location) && (location != "") == strings.Contains(got, "\r\nLocation: "),
				"%.60s: got\n%s\nwant %s", path, got, want)
		}
	})
}

func TestForwardQueryAndQueryAreOneField(t *testing.T) {
	st := newSite(t, nil)
	const conflict = "query:conflict"
	fields := func(r reply) string { return field(t, r.body, "forward_query") + " " + field(t, r.body, "query") }
	for i, c := range []struct{ body, want, refused string }{
		{``, `false "none"`, ""},
		{`,"forward_query":true`, `true "append"`, ""},
		{`,"forward_query":false`, `false "none"`, ""},
		{`,"query":"keep"`, `true "keep"`, ""},
		{`,"query":"keep","forward_query":true`, `true "keep"`, ""},
		{`,"forward_query":true,"query":"override"`, `true "override"`, ""},
		{`,"forward_query":false,"query":"none"`, `false "none"`, ""},
		{`,"forward_query":null,"query":"append"`, `true "append"`, ""},
		{`,"forward_query":true,"query":null`, `true "append"`, ""},
		{`,"forward_query":true,"query":"none"`, "", conflict},
		{`,"forward_query":false,"query":"append"`, "", conflict},
		{`,"query":"override","forward_query":false`, "", conflict},
	} {
		made := st.call("POST", "/shorten", `{"url":"http://a/"`+c.body+`}`)
		item := itemOf(st.call("POST", "/import", fmt.Sprintf(`[{"code":"i%d","url":"http://a/"%s}]`, i, c.body)))
		expect.That(t, made.fields() == c.refused && item.fields() == c.refused, "%s: got %d %s, %d %s", c.body, made.status, made.body, item.status, item.body)
		if c.refused == "" {
			read := st.call("GET", fmt.Sprint("/links/i", i), "")
			expect.That(t, fields(made) == c.want && fields(read) == c.want, "%s: got %s, of an import %s, want %s", c.body, fields(made), fields(read), c.want)
		}
	}
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for _, c := range []struct{ patch, want, refused string }{
		{`{"forward_query":true}`, `true "append"`, ""},
		{`{"query":"override"}`, `true "override"`, ""},
		{`{"forward_query":true}`, `true "override"`, ""}, // as it is
		{`{"title":"t","forward_query":true,"query":"override"}`, `true "override"`, ""},
		{`{"forward_query":true,"query":"none"}`, `true "override"`, conflict},
		{`{"forward_query":null,"query":"keep"}`, `true "override"`, conflict},
		{`{"forward_query":true,"query":null}`, `true "override"`, conflict},
		{`{"query":"keep","forward_query":true}`, `true "keep"`, ""},
		{`{"forward_query":false}`, `false "none"`, ""},
		{`{"query":"append"}`, `true "append"`, ""},
		{`{"forward_query":null}`, `false "none"`, ""},
		{`{"query":"keep"}`, `true "keep"`, ""},
		{`{"query":null}`, `false "none"`, ""},
	} {
		r := st.call("PATCH", "/links/x", c.patch)
		expect.Equal(t, r.fields(), c.refused, "%s: got %d %s", c.patch, r.status, r.body)
		expect.Equal(t, fields(st.call("GET", "/links/x", "")), c.want, "after %s", c.patch)
	}
	page := st.audited("?code=x")
	expect.That(t, strings.Contains(string(page.Data[0].Before), `"query":"keep"`) && strings.Contains(string(page.Data[0].After), `"query":"none"`), "audited: %s, %s", page.Data[0].Before, page.Data[0].After)
}
