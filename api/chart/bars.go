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
	Rest  bool   // everything that has no row of its own
	Flag  string // before the label, for the eye; empty: none
	Note  string // after the label; empty: none
	Path  string // address of the figures of the row; empty: none
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
		b.WriteString(item)
		r.writeLabel(b)
		fmt.Fprintf(b, ` <span class="num">%s</span> <span class="share">%s</span><svg class="bar" aria-hidden="true"><rect width="%s%%" height="100%%"/></svg>`,
			Grouped(r.Value), Share(r.Value, total), decimal(percentOf(r.Value, total)))
	}
	b.WriteString("</ol>")
	return template.HTML(b.String())
}

// writeLabel writes what stands before the value of a row.
func (r *Row) writeLabel(b *strings.Builder) {
	label := `<bdi>` + breakable(r.Label) + `</bdi>`
	if r.Flag != "" {
		label = `<span class="flag" aria-hidden="true">` + escape(r.Flag) + `</span> ` + label
	}
	if r.Path != "" {
		label = `<a href="` + escape(r.Path) + `">` + label + `</a>`
	}
	if r.Note != "" {
		label += ` <bdi class="note">` + escape(r.Note) + `</bdi>`
	}
	b.WriteString(`<span class="label">` + label + `</span>`)
}
