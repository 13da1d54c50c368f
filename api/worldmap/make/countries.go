package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/text/language"
)

// names are the countries of the map to which ISO 3166-1 gives no number of their own, with the code that hits from
// there are counted by; "": none.
var names = map[string]string{"Kosovo": "XK", "Somaliland": "SO", "N. Cyprus": "CY", "Indian Ocean Ter.": "AU", "Siachen Glacier": ""}

// moved are areas that the map has in another country than ISO 3166 has them, by a point in each: hits are counted by
// the codes of ISO 3166, so the map colours these.
var moved = []struct {
	in       point
	from, to string
}{
	{point{34.2, 45.3}, "RU", "UA"},   // Crimea
	{point{-53, 4}, "FR", "GF"},       // French Guiana
	{point{-61.7, 16.1}, "FR", "GP"},  // Guadeloupe, its west
	{point{-61.4, 16.3}, "FR", "GP"},  // and its east
	{point{-61, 14.65}, "FR", "MQ"},   // Martinique
	{point{45.15, -12.8}, "FR", "YT"}, // Mayotte
	{point{55.5, -21.1}, "FR", "RE"},  // Réunion
	{point{-68.3, 12.2}, "NL", "BQ"},  // Bonaire
}

// left are countries without a place in the drawing: Antarctica.
var left = []string{"AQ"}

// codeOf returns the code of a country.
func codeOf(g *geometry) (string, error) {
	if code, known := names[g.Properties.Name]; known && g.ID == "" {
		return code, nil
	}
	number, err := strconv.Atoi(g.ID)
	if err != nil {
		return "", fmt.Errorf("%s has the id %q", g.Properties.Name, g.ID)
	}
	region, err := language.EncodeM49(number)
	return region.String(), err
}

// countries returns the areas of all countries by their codes.
func (t *topology) countries() (map[string][]polygon, error) {
	all := make(map[string][]polygon)
	for i := range t.Objects.Countries.Geometries {
		g := &t.Objects.Countries.Geometries[i]
		code, err := codeOf(g)
		if err != nil {
			return nil, err
		}
		areas, err := g.polygons()
		if err != nil {
			return nil, err
		}
		if code != "" && !slices.Contains(left, code) {
			all[code] = append(all[code], areas...)
		}
	}
	for _, m := range moved {
		i := slices.IndexFunc(all[m.from], func(p polygon) bool { return contains(lineOf(p[0], t.lines), m.in) })
		if i < 0 {
			return nil, fmt.Errorf("%s has no area with %v", m.from, m.in)
		}
		all[m.to] = append(all[m.to], all[m.from][i])
		all[m.from] = slices.Delete(all[m.from], i, i+1)
	}
	return all, nil
}

// lineOf returns the points of a ring, each once.
func lineOf(r ring, arcs [][]point) (points []point) {
	for _, arc := range r {
		part := arcs[max(arc, ^arc)]
		if arc < 0 {
			part = slices.Clone(part)
			slices.Reverse(part)
		}
		points = append(points, part[1:]...)
	}
	return points
}

// contains reports whether a point is within a closed line.
func contains(line []point, p point) (in bool) {
	for i, a := range line {
		b := line[(i+1)%len(line)]
		if (a.y > p.y) != (b.y > p.y) && p.x < (b.x-a.x)*(p.y-a.y)/(b.y-a.y)+a.x {
			in = !in
		}
	}
	return in
}

// Sizes below which a shape is left out, or drawn as a dot.
const (
	leastTriangle = 1.8 // square units; see simplified
	leastArea     = 2.5 // square units, of an island
	dotRadius     = 2.5 // units
)

// draw returns the drawing of the countries of a map.
func (t *topology) draw() ([]byte, error) {
	countries, err := t.countries()
	if err != nil {
		return nil, err
	}
	drawn := make([][]point, len(t.lines))
	for i, line := range t.lines {
		drawn[i] = simplified(line, leastTriangle)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"><g id="land">`+"\n", width, height())
	for _, code := range slices.Sorted(maps.Keys(countries)) {
		rings, err := t.joined(countries[code])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", code, err)
		}
		t.write(&b, code, rings, drawn)
	}
	b.WriteString("</g></svg>\n")
	return b.Bytes(), nil
}

// write writes a country, of which rings are the outlines; drawn are the arcs as they are drawn. A country of which
// nothing can be seen is a dot.
func (t *topology) write(b *bytes.Buffer, code string, rings []ring, drawn [][]point) {
	var path []byte
	var at point
	largest := 0.0
	for _, r := range rings {
		for _, part := range cut(lineOf(r, t.lines)) {
			for i := range part {
				part[i] = project(part[i])
			}
			if size := area(part); size >= largest {
				largest, at = size, centre(part)
			}
		}
		for _, part := range cut(lineOf(r, drawn)) {
			if line := projected(part); len(line) > 2 && area(line) >= leastArea {
				path = appendPath(path, line)
			}
		}
	}
	if path == nil {
		fmt.Fprintf(b, `<circle id="%s" cx="%.0f" cy="%.0f" r="%v"/>`+"\n", code, at.x, at.y, dotRadius)
		return
	}
	fmt.Fprintf(b, `<path id="%s" d="%s"/>`+"\n", code, path)
}
