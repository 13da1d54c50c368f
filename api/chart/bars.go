package chart

import (
	"fmt"
	"html/template"
	"strings"
)

// A Row is a line of a breakdown.
type Row struct {
	Label string
	Value uint64
	Rest  bool // everything that has no row of its own
}

// breakable escapes a label, and lets it break before its dots rather than in a word: many are names of hosts.
func breakable(label string) string { return strings.ReplaceAll(escape(label), ".", "<wbr>.") }

// Bars returns a breakdown as a list in which each row has its label, its value and its share of
// total, which is also drawn. Labels are escaped, and isolated from the direction of the text
// around them.
func Bars(rows []Row, total uint64) template.HTML {
	b := new(strings.Builder)
	b.WriteString(`<ol class="bars">`)
	for _, r := range rows {
		item := "<li>"
		if r.Rest {
			item = `<li class="rest">`
		}
		fmt.Fprintf(b, item+`<bdi class="label">%s</bdi> <span class="num">%s</span> <span class="share">%s</span>`+
			`<svg class="bar" aria-hidden="true"><rect width="%s%%" height="100%%"/></svg>`, breakable(r.Label), Grouped(r.Value), Share(r.Value, total), decimal(percentOf(r.Value, total)))
	}
	b.WriteString("</ol>")
	return template.HTML(b.String())
}
