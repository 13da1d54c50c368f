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

// isHost reports whether a label looks like the name of a host, which may break before its dots rather than in a word,
// and is the same in every language.
func isHost(label string) bool { return strings.Contains(label, ".") && !strings.Contains(label, " ") }

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
	label := `<bdi>` + escape(r.Label) + `</bdi>`
	if isHost(r.Label) {
		label = `<bdi translate="no">` + strings.ReplaceAll(escape(r.Label), ".", "<wbr>.") + `</bdi>`
	}
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
