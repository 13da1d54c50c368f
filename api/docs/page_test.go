package docs

import (
	"html"
	"slices"
	"strings"
	"testing"

	"shunt/api/page"
	"shunt/api/visitor"
	"shunt/engine/expect"
)

func TestTextOfTheDocumentIsEscapedOnThePage(t *testing.T) {
	const sharp = `<b a="x">&`
	example := refExample{sharp, sharp}
	problem := refError{Name: "n", Status: sharp, Code: sharp, Summary: sharp, Text: sharp}
	field := refField{Name: sharp, Mark: sharp, Type: sharp, Description: sharp}
	o := refOperation{
		ID: "id", Method: sharp, Path: sharp, Summary: sharp, Description: sharp, Access: sharp, Parameters: []refField{field},
		Body: &refBody{Description: sharp, Types: []string{sharp}, Examples: []refExample{example}}, Curl: refCurl{sharp, sharp},
		Answers: []refAnswer{{Status: sharp, Description: sharp, Type: sharp, Headers: []refField{field}, Examples: []refExample{example}}},
		Errors:  []refError{problem},
	}
	shown := string(write(&reference{
		Title: sharp, Summary: sharp, Description: "`" + sharp + "`",
		Groups:  []refGroup{{sharp, sharp, []refOperation{o}}},
		Objects: []refObject{{"Name", sharp, []refField{field}}}, Errors: []refError{problem},
	}, sharp, page.Site{Host: sharp}, nil))
	expect.That(t, !strings.Contains(shown, "<b ") && strings.Count(shown, "&lt;b a=&#34;x&#34;&gt;&amp;") >= 40, "got %s", shown)
}

func TestTheReferencePageNamesEveryBotAndCommandLineTool(t *testing.T) {
	shown := string(Page("https://sho.rt", page.Site{Host: "sho.rt"}, nil).Body)
	words := slices.Clone(visitor.CommandLineTools)
	for _, group := range visitor.KnownBots {
		words = append(words, group.Words...)
		expect.Contains(t, shown, `<h3 class="group">`+group.Name+"</h3>", "the page has no group %s", group.Name)
	}
	for _, word := range words {
		text, first := strings.CutPrefix(word, "^")
		want := "<code>" + html.EscapeString(showSpaces(text)) + "</code>"
		if first {
			want += " (at the beginning)"
		}
		expect.Contains(t, shown, want, "%s is not on the page", word)
	}
	want := "<code>␣bot)</code>, <code>␣bot␣</code>"
	expect.That(t, strings.Contains(shown, want), "the page does not have %s", want)
}
