package worldmap

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// maxShapes is how many bytes the file of shapes may have, as it is sent.
const maxShapes = 9_000

func TestTheShapesAreASmallFile(t *testing.T) {
	var sent bytes.Buffer
	w := gzip.NewWriter(&sent)
	_, err := w.Write([]byte(Shapes))
	expect.NoError(t, err)
	expect.NoError(t, w.Close())
	expect.That(t, sent.Len() <= maxShapes, "it has %d bytes compressed, want at most %d", sent.Len(), maxShapes)
	expect.NoError(t, xml.Unmarshal([]byte(Shapes), new(struct{})))
	expect.That(t, !strings.Contains(Shapes, "style") && !strings.Contains(Shapes, "script"), "a policy would refuse a part of it")
}

// A box is where a shape is.
type box struct{ left, top, right, bottom float64 }

var (
	pathOf   = regexp.MustCompile(`<path id="([A-Z]{2})" d="(M[-0-9 Mlz]+z)"/>`)
	circleOf = regexp.MustCompile(`<circle id="([A-Z]{2})" cx="(\d+)" cy="(\d+)" r="2.5"/>`)
	pieceOf  = regexp.MustCompile(`M(\d+) (\d+)l([-0-9 ]+)z`)
	numberOf = regexp.MustCompile(`-?\d+`)
)

// boxes returns the boxes of all shapes, and fails unless each is a path of closed lines or a dot.
func boxes(t *testing.T) map[string]box {
	t.Helper()
	all := make(map[string]box)
	for _, m := range circleOf.FindAllStringSubmatch(Shapes, -1) {
		x, y := number(m[2]), number(m[3])
		all[m[1]] = box{x, y, x, y}
	}
	for _, m := range pathOf.FindAllStringSubmatch(Shapes, -1) {
		b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
		pieces, read := pieceOf.FindAllStringSubmatch(m[2], -1), 0
		for _, piece := range pieces {
			read += len(piece[0])
			x, y := number(piece[1]), number(piece[2])
			steps := numberOf.FindAllString(piece[3], -1)
			expect.MustThat(t, len(steps)%2 == 0 && len(steps) >= 4, "%s: %s", m[1], piece[0])
			for i := 0; ; i += 2 {
				b = box{min(b.left, x), min(b.top, y), max(b.right, x), max(b.bottom, y)}
				if i == len(steps) {
					break
				}
				x, y = x+number(steps[i]), y+number(steps[i+1])
			}
		}
		expect.Equal(t, read, len(m[2]), "%s is not whole: %s", m[1], m[2])
		all[m[1]] = b
	}
	expect.MustEqual(t, len(all), len(drawn), "shapes that are read, and ids")
	return all
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func TestCountriesAreWhereTheyAre(t *testing.T) {
	all := boxes(t)
	var width, height float64
	_, err := fmt.Sscanf(viewBox, "0 0 %g %g", &width, &height)
	expect.MustThat(t, err == nil && len(all) >= 230, "%d shapes, %v", len(all), err)
	for code, b := range all {
		expect.That(t, b.left >= 0 && b.top >= 0 && b.right <= width && b.bottom <= height, "%s is outside: %v", code, b)
		expect.That(t, b.right-b.left < width/2, "%s goes around the earth: %v", code, b)
	}
	west := func(a, b string) {
		expect.That(t, all[a].right <= all[b].left, "%s %v is west of %s %v", a, all[a], b, all[b])
	}
	north := func(a, b string) {
		expect.That(t, all[a].bottom <= all[b].top, "%s %v is north of %s %v", a, all[a], b, all[b])
	}
	west("IE", "DE")
	west("DE", "CN")
	west("BR", "ZA")
	west("IN", "JP")
	north("DE", "NG")
	north("JP", "AU")
	north("CA", "BR")
	within := func(a, b string) {
		expect.That(t, all[a].left >= all[b].left && all[a].right <= all[b].right && all[a].top >= all[b].top && all[a].bottom <= all[b].bottom,
			"%s %v is within %s %v", a, all[a], b, all[b])
	}
	within("LS", "ZA")
	within("SM", "IT")
}

func TestAShadeIsAShare(t *testing.T) {
	for _, c := range []struct {
		part, total uint64
		want        int
	}{
		{1, 1e6, 1}, {9, 1000, 1}, {10, 1000, 2}, {49, 1000, 2}, {50, 1000, 3}, {99, 1000, 3}, {100, 1000, 4}, {249, 1000, 4}, {250, 1000, 5}, {1, 1, 5},
		{math.MaxUint64 / 100, math.MaxUint64, 1}, {math.MaxUint64/100 + 1, math.MaxUint64, 2}, {math.MaxUint64, math.MaxUint64, 5},
	} {
		expect.Equal(t, stepOf(c.part, c.total), c.want, "%d of %d", c.part, c.total)
	}
}

func TestAMapHasEachCountryWithItsShadeAndFigures(t *testing.T) {
	got := string(HTML([]Country{
		{"DE", "Germany", 60, "60 hits"}, {"FR", "<France>", 4, "4 & hits"}, {"GI", "Gibraltar", 1, "1 hit"}, {"CN", "China", 0, "0 hits"},
	}, 100, "/map.svg?a&b"))
	for _, want := range []string{
		`<use href="/map.svg?a&amp;b#land"/>`, `<use href="/map.svg?a&amp;b#DE" class="step5"><title>Germany: 60 hits</title></use>`,
		`#FR" class="step2"><title>&lt;France&gt;: 4 &amp; hits</title>`, `<span class="key step1">under 1%</span>`, `<span class="key step5">25% or more</span>`,
		"Not on the map: Gibraltar<", `role="img" aria-label="`,
	} {
		expect.Contains(t, got, want)
	}
	expect.That(t, !strings.Contains(got, "China"), "a country without hits is drawn: %s", got)
	expect.Equal(t, HTML([]Country{{"GI", "Gibraltar", 1, ""}, {"../x", "x", 1, ""}}, 2, "/"), "", "no country is on the map")
}

func TestEachShadeHasAColour(t *testing.T) {
	for i := range steps {
		expect.Equal(t, strings.Count(Style, fmt.Sprintf(".step%d { --bar: #", i+1)), 2, "step %d, light and dark", i+1)
	}
}
