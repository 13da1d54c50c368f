package target

import (
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

func TestSchemesThatAnOperatorLists(t *testing.T) {
	for list, want := range map[string]string{
		"https,http":                "<nil>",
		"HTTP, https":               "<nil>",
		"https":                     "https",
		"https, mailto,tel ,MARKET": "https mailto tel market",
		"mailto,mailto":             "mailto",
		"https,x-app+1.2":           "https x-app+1.2",
		"":                          `error: "" is not the name of a scheme, such as mailto`,
		"https,":                    `error: "" is not the name of a scheme, such as mailto`,
		"mailto:":                   `error: "mailto:" is not the name of a scheme, such as mailto`,
		"https,JavaScript":          "error: javascript is a scheme that no target may have: browsers could run what such an address says",
	} {
		s, err := ParseSchemes(list)
		got := strings.Join(s, " ")
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case s == nil:
			got = "<nil>"
		}
		expect.Equal(t, got, want, "%q", list)
	}
	for _, scheme := range refusedSchemes {
		expect.That(t, expect.Err(ParseSchemes("https,"+scheme)) != nil, "%s can be listed", scheme)
	}
}

func TestTheErrorOfASchemeNamesTheSettingThatCouldAllowIt(t *testing.T) {
	const hint = " (an operator can allow more with --target-schemes)"
	listed, err := ParseSchemes("https,mailto")
	expect.OK(t, err)
	for name, c := range map[string]struct {
		schemes     Schemes
		typed, want string
	}{
		"of no list":                {nil, "tel:+1", "must be http or https" + hint},
		"with a host":               {nil, "FTP://example.com/", "must be http or https" + hint},
		"that nobody can list":      {nil, "JavaScript:alert(1)", "must be http or https"},
		"that is meant as a host":   {nil, "example.com:", "must be http or https"},
		"of a list":                 {listed, "tel:+1", "must begin with one of https, mailto" + hint},
		"http, of a list":           {listed, "http://example.com/", "must begin with one of https, mailto" + hint},
		"of a list that has no say": {listed, "data:x", "must begin with one of https, mailto"},
		"of no setting":             {WebSchemes, "tel:+1", "must be http or https"},
	} {
		_, err := Policy{Schemes: c.schemes}.ParseTyped(c.typed)
		expect.That(t, err != nil && err.(invalid.FieldError).Message == c.want, "%s: got %v, want %s", name, err, c.want)
	}
	skipped, err := new(BlockList).Replace([]byte("ftp://a.example/x"))
	expect.That(t, err == nil && len(skipped) == 1 && skipped[0].Reason == "must be http or https", "of a block list: got %v, %v", skipped, err)
	got, err := Policy{Schemes: WebSchemes}.ParseTyped("http://Example.com")
	expect.That(t, err == nil && got == "http://example.com", "got %q, %v", got, err)
}

func TestTargetsOfOtherSchemes(t *testing.T) {
	schemes, err := ParseSchemes("https,mailto,tel,market,a.b")
	expect.OK(t, err)
	blocked := new(BlockList)
	expect.OK(t, expect.Err(blocked.Replace([]byte("evil.example\n"))))
	p := Policy{Blocked: blocked, Schemes: schemes, RefusePrivate: true, OwnOrigins: ParseOrigins("https://sho.rt"), OwnHost: func(name string) bool { return name == "" }}
	long := "tel:" + strings.Repeat("1", limits.MaxTargetBytes-4)
	for typed, want := range map[string]string{
		"mailto:ann@example.com?subject=a": "mailto:ann@example.com?subject=a",
		" Mailto:ann@example.com ":         "Mailto:ann@example.com",
		"tel:+49 30 1234":                  "tel:+49%2030%201234",
		"market://details?id=org.example":  "market://details?id=org.example",
		"a.b:8080":                         "a.b:8080", // not a host and its port: the operator has said so
		"example.com/x":                    "https://example.com/x",
		"https://Example.com/":             "https://example.com/",
		long:                               long,
		"http://example.com/":              "error scheme",
		"HTTP://example.com/":              "error scheme",
		"javascript:alert(1)":              "error scheme",
		"javascript://example.com/%0aa":    "error scheme",
		"data:text/html,x":                 "error scheme",
		"geo:1,2":                          "error scheme",
		"tel:":                             "error host",
		"market://":                        "error host",
		"market://?x":                      "error host",
		"market://[x":                      "error host",
		"market://user@a.example/":         "error user_info",
		"market://A.Example/x":             "market://a.example/x",
		"market://sho.rt/x":                "error own_origin",
		"market://localhost/x":             "error private",
		"market://evil.example/x":          "error blocked",
		"market://EVIL.example/x":          "error blocked",
		"tel:1":                            "tel:1",
		"mailto:a@evil.example":            "mailto:a@evil.example", // it has no host
		"mailto:x?subject=://evil.example": "mailto:x?subject=://evil.example",
		"tel:1\\2":                         "error characters",
		"tel:\x011":                        "error characters",
		"tel:\xff":                         "error characters",
		long + "1":                         "error too_long",
		"mailto:" + strings.Repeat("é", limits.MaxTargetBytes/4): "error too_long",
		"https://sho.rt/x":   "error own_origin",
		"https://localhost/": "error private",
		"localhost:8080":     "error not_absolute",
	} {
		got, err := p.ParseTyped(typed)
		if wrong, ok := err.(invalid.FieldError); ok {
			got = "error " + wrong.Code
		}
		expect.Equal(t, got, want, "%.60q", typed)
		if err == nil {
			again, err := p.Parse(got)
			expect.That(t, err == nil && again == got, "%.60q is read again as %.60q, %v", got, again, err)
		}
	}
	expect.That(t, HasHost("market://a") && HasHost("https://a") && !HasHost("mailto:a@b://c") && !HasHost("tel:1") && !HasHost("a"), "hosts")
	none := Policy{}
	expect.That(t, expect.Err(none.ParseTyped("mailto:ann@example.com")) != nil, "a scheme that is not listed")
}
