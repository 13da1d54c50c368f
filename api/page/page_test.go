package page

import (
	"strings"
	"testing"

	"shunt/api/brand"
	"shunt/api/redirect"
	"shunt/engine/expect"
)

func TestEveryOutcomeHasAPageThatNamesTheSite(t *testing.T) {
	pages := New(Site{Host: "sho.rt:8443", Docs: "/docs"})
	for o := redirect.UnknownCode; o < redirect.Prefetched; o++ { // a prefetch and what comes after it have no page
		p := pages.Error(o)
		if p.Kind == nil {
			t.Errorf("outcome %d has no page", o)
			continue
		}
		html := string(p.HTML.Body)
		for _, want := range []string{"<a class=\"brand\" href=\"/\">sho.rt:8443</a>", " · sho.rt:8443</title>", "<p>" + p.Detail + "</p>"} {
			expect.That(t, strings.Contains(html, want), "the page of outcome %d lacks %s:\n%s", o, want, html)
		}
		expect.That(t, !strings.Contains(html, "SUPPORT") && !strings.Contains(html, "%!") && !strings.Contains(html, "<p class=\"quiet\"></p>"),
			"the page of outcome %d is not filled in:\n%s", o, html)
	}
}

func TestStringsAreEscapedAndMarkupIsNot(t *testing.T) {
	const sharp = `<b a="x">&'`
	expect.Equal(t, Format("<i>%s</i>%s %d", sharp, Markup("<b>"), 7), Markup("<i>&lt;b a=&#34;x&#34;&gt;&amp;&#39;</i><b> 7"))
	for _, logo := range []*brand.Logo{nil, {}} {
		site := Site{Host: sharp, Docs: sharp, SignIn: sharp, Brand: brand.Brand{Name: sharp, SupportURL: sharp, Logo: logo}}
		pages := New(site)
		all := [][]byte{pages.Landing.Body, pages.HTML(sharp, "")}
		for o := redirect.UnknownCode; o < redirect.Prefetched; o++ { // a prefetch and what comes after it have no page
			all = append(all, pages.Error(o).HTML.Body)
		}
		for _, html := range all {
			expect.That(t, !strings.Contains(string(html), "<b ") && strings.Contains(string(html), "&lt;b "), "got %s", html)
		}
	}
}

func TestACompactStyleKeepsTheSpacesThatMeanSomething(t *testing.T) {
	const css = "/* a { */a :hover, .b > c {\n  margin: 0 calc(1px + 2px); color: red; }\n@media (max-width: 1rem) { a { top: 0 } }\n"
	const want = "a :hover,.b > c{margin:0 calc(1px + 2px);color:red}@media (max-width:1rem){a{top:0}}"
	expect.Equal(t, Compact(css), want)
}

func TestACompactScriptLosesOnlyComments(t *testing.T) {
	const script = "'use strict';\n/*\nWhat it does.\n*/\n(() => {\n\t// A comment.\n\tconst a = 'http://x'; // stays\n\n\t\tb(`c // d`); /* stays */\n})();\n"
	const want = "'use strict';\n(() => {\nconst a = 'http://x'; // stays\nb(`c // d`); /* stays */\n})();\n"
	expect.Equal(t, CompactScript(script), want)
	expect.Equal(t, CompactScript(want), want, "again")
}
