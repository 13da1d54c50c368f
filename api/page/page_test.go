package page

import (
	"strings"
	"testing"

	"shunt/api/redirect"
)

func TestEveryOutcomeHasAPageThatNamesTheSite(t *testing.T) {
	pages := New("sho.rt:8443", "/docs")
	for o := redirect.UnknownCode; o < redirect.NumOutcomes; o++ {
		p := pages.Error(o)
		if p.Kind == nil {
			t.Errorf("outcome %d has no page", o)
			continue
		}
		html := string(p.HTML)
		for _, want := range []string{"<p class=\"site\">sho.rt:8443</p>", " · sho.rt:8443</title>", "<p>" + p.Detail + "</p>"} {
			if !strings.Contains(html, want) {
				t.Errorf("the page of outcome %d lacks %s:\n%s", o, want, html)
			}
		}
		if strings.Contains(html, "SITE") || strings.Contains(html, "<p class=\"quiet\"></p>") {
			t.Errorf("the page of outcome %d is not filled in:\n%s", o, html)
		}
	}
}

func TestStringsAreEscapedAndMarkupIsNot(t *testing.T) {
	const sharp = `<b a="x">&'`
	if got, want := Format("<i>%s</i>%s %d", sharp, Markup("<b>"), 7), Markup("<i>&lt;b a=&#34;x&#34;&gt;&amp;&#39;</i><b> 7"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if html := string(New(sharp, sharp).HTML(sharp, "")); strings.Contains(html, "<b ") {
		t.Errorf("got %s", html)
	}
}
