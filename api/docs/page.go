package docs

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"

	"shunt/api/page"
	"shunt/api/visitor"
	"shunt/api/words"
)

//go:embed docs.css
var ownStyle string

var style = page.BaseStyle + page.Compact(ownStyle)

//go:embed page.html
var pageTemplate string

// Policy returns the Content-Security-Policy of Page.
func Policy(site page.Site) string { return page.PolicyFor(&site, style) }

// Page returns the reference page of the API at baseURL, with headings and labels in a language. Everything on it about
// the API comes from the OpenAPI document, which is in English.
func Page(baseURL string, site page.Site, language *words.Catalog) Document {
	r, err := readReference(documentText)
	if err != nil {
		panic(fmt.Sprintf("docs: openapi.json: %v", err)) // it is part of the program
	}
	return NewDocument(write(r, baseURL, site, language))
}

// write returns the HTML of the reference page. In another language than English, an element of the page that is in it
// has the attribute that own returns, and one that has English in it that of english.
func write(r *reference, baseURL string, site page.Site, language *words.Catalog) []byte {
	attribute := func(tag string) func() template.HTMLAttr {
		return func() template.HTMLAttr {
			if language == nil {
				return ""
			}
			return template.HTMLAttr(` lang="` + tag + `"`)
		}
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"prose": prose, "inline": inline, "join": strings.Join, "bots": botGroups, "base": func() string { return baseURL },
		"say": language.Say, "own": attribute(language.Tag()), "english": attribute(words.English),
	}).Parse(pageTemplate))
	var b strings.Builder
	b.WriteString(string(page.Head(language, "API · "+site.Name(), style) + site.Top(language)))
	if err := t.Execute(&b, r); err != nil {
		panic(fmt.Sprintf("docs: page.html: %v", err)) // it is part of the program
	}
	return []byte(b.String())
}

var (
	paragraphEnd = regexp.MustCompile(`\n{2,}`)
	codeSpan     = regexp.MustCompile("`([^`]*)`")
)

// prose converts the part of CommonMark that the page uses: paragraphs, and code between backticks.
func prose(text string) template.HTML {
	var b strings.Builder
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		if paragraph != "" {
			b.WriteString("<p>" + string(inline(paragraph)) + "</p>\n")
		}
	}
	return template.HTML(b.String())
}

// inline converts text within a line: code between backticks.
func inline(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>"))
}

// A botGroup is a group of words by which a bot, or a tool that is none, is known.
type botGroup struct {
	Name  string
	Words []botWord
}

// A botWord is a word; First: it counts only at the beginning.
type botWord struct {
	Text  string
	First bool
}

// botGroups returns the words of the tables that decide what a bot is.
func botGroups() []botGroup {
	var groups []botGroup
	for _, g := range visitor.KnownBots {
		groups = append(groups, newBotGroup(g.Name, g.Words))
	}
	return append(groups, newBotGroup("Always visitors: User-Agents that begin with one of these", visitor.CommandLineTools))
}

func newBotGroup(name string, words []string) botGroup {
	g := botGroup{Name: name}
	for _, word := range words {
		text, first := strings.CutPrefix(word, "^")
		g.Words = append(g.Words, botWord{showSpaces(text), first})
	}
	return g
}

// showSpaces replaces the spaces at the ends of a word, which browsers do not show.
func showSpaces(word string) string {
	trimmed := strings.Trim(word, " ")
	at := strings.Index(word, trimmed)
	return strings.Repeat("␣", at) + trimmed + strings.Repeat("␣", len(word)-at-len(trimmed))
}
