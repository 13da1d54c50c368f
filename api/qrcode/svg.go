package qrcode

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// SVG draws q as a path of runs of modules, one unit a module. mm is the side of the picture; 0: as large as its place.
func (q Code) SVG(mm float64) []byte {
	b := []byte(`<svg xmlns="http://www.w3.org/2000/svg"`)
	if mm > 0 {
		b = fmt.Appendf(b, ` width="%smm" height="%[1]smm"`, decimal(mm))
	}
	b = fmt.Appendf(b, ` viewBox="0 0 %d %[1]d" shape-rendering="crispEdges">`, q.width)
	if !q.style.Background.None {
		b = fmt.Appendf(b, `<path fill="%s" d="M0 0h%dv%[2]dH0z"/>`, shortColor(q.style.Background), q.width)
	}
	b = append(b, `<path `...)
	if q.style.Color != Black {
		b = fmt.Appendf(b, `fill="%s" `, shortColor(q.style.Color))
	}
	b = append(b, `d="`...)
	q.runs(func(x, y, n int) { b = fmt.Appendf(b, "M%d %dh%dv1h-%dz", x, y, n, n) })
	b = append(b, `"/>`...)
	if q.style.Logo != nil {
		x, y, w, h := q.logoPlace()
		b = fmt.Appendf(b, `<image x="%s" y="%s" width="%s" height="%s" href="data:image/png;base64,`,
			decimal(x), decimal(y), decimal(w), decimal(h))
		b = base64.StdEncoding.AppendEncode(b, q.style.Logo.png())
		b = append(b, `"/>`...)
	}
	return append(b, "</svg>\n"...)
}

// shortColor returns a color as SVG has it, white in the short form.
func shortColor(c Color) string {
	if c == White {
		return "#fff"
	}
	return c.String()
}

// decimal writes a number of modules, millimetres or points.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'f', 4, 64)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}
