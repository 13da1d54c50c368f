package words

import (
	"bytes"
	"html/template"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Fragment returns HTML of ours, such as a chart, with its texts and the attributes that people read in the language of
// c. Texts in an element with translate="no" stay as they are.
func (c *Catalog) Fragment(fragment template.HTML) template.HTML {
	if c == nil {
		return fragment
	}
	var b bytes.Buffer
	kept := 0 // depth below an element with translate="no"
	for z := html.NewTokenizer(strings.NewReader(string(fragment))); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return template.HTML(b.String())
		}
		raw := string(z.Raw())
		token := z.Token()
		switch {
		case kept > 0 || kind == html.StartTagToken && isKept(&token):
			switch kind {
			case html.StartTagToken:
				if !slices.Contains(empty, token.Data) {
					kept++
				}
			case html.EndTagToken:
				kept--
			}
			b.WriteString(raw)
		case kind == html.TextToken:
			b.WriteString(c.around(raw, token.Data))
		case c.sayAttributes(&token):
			b.WriteString(token.String())
		default:
			b.WriteString(raw)
		}
	}
}

// empty are elements that have no end tag.
var empty = []string{"br", "col", "hr", "img", "input", "source", "wbr"}

func isKept(t *html.Token) bool {
	for _, a := range t.Attr {
		if a.Key == "translate" && a.Val == "no" {
			return true
		}
	}
	return false
}

// around returns a text with the spaces around it.
func (c *Catalog) around(raw, text string) string {
	key := keyOf(text)
	if key == "" {
		return raw
	}
	said := c.Number(key)
	if isText(key) || strings.HasSuffix(key, "%") {
		said = c.Say(key)
	}
	if said == key {
		return raw
	}
	i := strings.Index(text, key)
	if i < 0 {
		return html.EscapeString(said)
	}
	return html.EscapeString(text[:i] + said + text[i+len(key):])
}

// sayAttributes translates the attributes of a tag; changed: there was something to translate.
func (c *Catalog) sayAttributes(t *html.Token) (changed bool) {
	for i := range t.Attr {
		if a := &t.Attr[i]; slices.Contains(attributes, a.Key) && isText(a.Val) {
			said := c.Say(a.Val)
			changed = changed || said != a.Val
			a.Val = said
		}
	}
	return changed
}
