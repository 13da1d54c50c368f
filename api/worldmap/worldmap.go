package worldmap

import (
	_ "embed"
	"fmt"
	"html/template"
	"math/bits"
	"strings"
)

// Style has the rules for the classes of this package.
//
//go:embed worldmap.css
var Style string

// A Country is a country with its hits.
type Country struct {
	Code string // of ISO 3166-1 alpha-2
	Name string
	Hits uint64
	Text string // the figures in words
}

// steps are the shades, by the share of all hits in per cent from which on a country has the shade.
var steps = []struct {
	from uint64
	text string
}{{0, "under 1%"}, {1, "1–5%"}, {5, "5–10%"}, {10, "10–25%"}, {25, "25% or more"}}

// stepOf returns the number of the shade, from 1, of a part of total.
func stepOf(part, total uint64) int {
	n := 0
	partHigh, partLow := bits.Mul64(part, 100)
	for _, s := range steps {
		if high, low := bits.Mul64(s.from, total); partHigh > high || partHigh == high && partLow >= low {
			n++
		}
	}
	return n
}

// HTML returns the map of countries with hits, whose shades are by their shares of total. file is the address of
// Shapes. It returns "" if no country is on the map.
func HTML(countries []Country, total uint64, file string) template.HTML {
	b, shown := new(strings.Builder), 0
	var missing []string
	file = template.HTMLEscapeString(file)
	fmt.Fprintf(b, `<figure class="world"><svg viewBox="%s" role="img" aria-label="Map of the world, with hits by country"><use href="%s#land"/>`, viewBox, file)
	for _, c := range countries {
		switch {
		case c.Hits == 0:
		case !drawn[c.Code]:
			missing = append(missing, c.Name)
		default:
			shown++
			fmt.Fprintf(b, `<use href="%s#%s" class="step%d"><title>%s: %s</title></use>`,
				file, c.Code, stepOf(c.Hits, total), template.HTMLEscapeString(c.Name), template.HTMLEscapeString(c.Text))
		}
	}
	if shown == 0 {
		return ""
	}
	b.WriteString(`</svg><figcaption class="legend"><span>Share of the hits:</span>`)
	for i, s := range steps {
		fmt.Fprintf(b, ` <span class="key step%d">%s</span>`, i+1, s.text)
	}
	if len(missing) > 0 {
		fmt.Fprintf(b, ` <span>Not on the map: %s</span>`, template.HTMLEscapeString(strings.Join(missing, ", ")))
	}
	b.WriteString("</figcaption></figure>")
	return template.HTML(b.String())
}
