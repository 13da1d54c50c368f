package api

import (
	"strings"
	"testing"
)

func TestAPreviewShowsTheTargetEscapedAndCountsNothing(t *testing.T) {
	st := newPagesSite(t)
	before := st.counted()
	r := st.get("/live+", browser)
	for _, want := range []string{
		"https://good.example/x?a=1&amp;b=&#34;&lt;script&gt;&#34;#y", `<time datetime="2026-01-02T03:04:05Z">2 January 2026, 03:04 UTC</time>`,
		`<a href="/live" rel="nofollow noreferrer">`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the preview lacks %s:\n%s", want, r.body)
		}
	}
	if r.header.Get("Location") != "" || r.header.Get("Refresh") != "" || strings.Contains(r.body, "http-equiv") {
		t.Errorf("the preview redirects: %+v", r)
	}
	if r := st.get("/capped+"); !strings.Contains(r.body, ">good.example<") || strings.Contains(r.body, "secret") {
		t.Errorf("a capped link: got\n%s", r.body)
	}
	st.get("/live.svg")
	st.get("/live.png")
	if got := st.counted(); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
	st.wantStats("live", 0, 0)
	if r := st.get("/capped"); r.status != 302 {
		t.Errorf("the preview used up the only hit: got %d", r.status)
	}
}

func TestAPreviewShowsBytesThatReorderTextAsEscapes(t *testing.T) {
	for target, want := range map[string]string{
		"https://a/\u202egpj.exe":   "https://a/%E2%80%AEgpj.exe",
		"https://a/straße":          "https://a/stra%C3%9Fe",
		"https://a?\u200bx":         "https://a?%E2%80%8Bx",
		"https://xn--mnchen-3ya.de": "https://xn--mnchen-3ya.de",
		"http://[::1]:80/":          "http://[::1]:80/",
	} {
		if got, _ := shownTarget(target); got != want {
			t.Errorf("%q: got %q, want %q", target, got, want)
		}
	}
}

func TestLookAlikeHostsAreShownInPunycodeOnly(t *testing.T) {
	for name, want := range map[string]string{ // the host in its own letters; the readable form, "?" if it is doubtful
		"good.example":                "",
		"münchen.example":             "münchen.example",
		"straße.example":              "straße.example",
		"việtnam.example":             "việtnam.example",
		"例え.jp":                       "例え.jp",
		"日本語ab.example":               "日本語ab.example",
		"한국.example":                  "한국.example",
		"пример.example":              "пример.example",
		"παράδειγμα.example":          "παράδειγμα.example",
		"דוגמה.example":               "דוגמה.example",
		"مثال.example":                "مثال.example",
		"ตัวอย่าง.example":            "ตัวอย่าง.example",
		"उदाहरण.example":              "उदाहरण.example",
		"аррӏе.example":               "?", // all Cyrillic
		"раураӏ.example":              "?",
		"pаypal.example":              "?", // one Cyrillic letter
		"gοοgle.example":              "?", // Greek
		"αpple.example":               "?",
		"ԝіkіреdіа.example":           "?",
		"ɢoogle.example":              "?",
		"paypaı.example":              "?", // dotless
		"ǃexample.example":            "?",
		"good.example⁄x.evil.example": "?",
		"ꭺpple.example":               "?",
		"ᎪᏢᏢᏞᎬ.example":               "?",
		"a\u0338b.example":            "?",
		"✓.example":                   "?",
		"ノーx.example":                 "?",
		"一.example":                   "?",
		"пример.аррӏе":                "?",
		"ѕех.example":                 "?",
		"օօօ.example":                 "?",
	} {
		ascii, err := unicodeOf.ToASCII(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, doubtful := readableHost(ascii)
		if doubtful {
			got += "?"
		}
		if got != want {
			t.Errorf("%s (%s): got %q, want %q", name, ascii, got, want)
		}
	}
	for _, ascii := range []string{"xn--a.example", "xn--.example", "xn--99999999.example", "xn--mnchen-3yb", "xn--MNCHEN"} {
		if got, doubtful := readableHost(strings.ToLower(ascii)); got != "" || !doubtful {
			t.Errorf("%s: got %q, %v; want it doubtful", ascii, got, doubtful)
		}
	}
}

func TestAPreviewShowsALookAlikeHostInPunycode(t *testing.T) {
	st := newPagesSite(t)
	st.shorten(`{"url":"https://аррӏе.example/","alias":"fake"}`)
	st.shorten(`{"url":"https://münchen.example/","alias":"real"}`)
	if r := st.get("/fake+"); !strings.Contains(r.body, "https://xn--80ak6aa92e.example/") || strings.Contains(r.body, "аррӏе") || !strings.Contains(r.body, "Mind the name") {
		t.Errorf("a look-alike: got\n%s", r.body)
	}
	if r := st.get("/real+"); !strings.Contains(r.body, "https://xn--mnchen-3ya.example/") || !strings.Contains(r.body, "<bdi>münchen.example</bdi>") {
		t.Errorf("a name that is readable: got\n%s", r.body)
	}
}

func TestAPreviewIsOfTheLinkThatIsThereNow(t *testing.T) {
	st := newPagesSite(t)
	if r := st.call("DELETE", "/links/live", ""); r.status != 204 {
		t.Fatalf("got %d", r.status)
	}
	if r := st.get("/live+"); r.status != 404 {
		t.Errorf("of a deleted link: got %d", r.status)
	}
	st.shorten(`{"url":"https://new.example/","alias":"live"}`)
	st.call("PATCH", "/links/live", `{"url":"https://newer.example/"}`)
	if r := st.get("/live+"); !strings.Contains(r.body, "https://newer.example/") || !strings.Contains(r.body, "2026-01-02T03:05:05Z") {
		t.Errorf("of its successor, edited: got\n%s", r.body)
	}
}
