package preview

import (
	"strings"
	"testing"
)

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
	for name, want := range map[string]string{ // from the host in its own letters to the readable form; "?" if it is doubtful
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
