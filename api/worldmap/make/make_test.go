package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// small is a map of Russia in two areas, Ukraine beside the second one, which has Crimea, and a country of one point's
// size that lies on the edge of the drawing. The areas of France and the Netherlands are those that are moved.
//
// Arcs: 0 is the line between Ukraine and Crimea, 1 goes around Ukraine's other sides, 2 around Crimea's.
func small(t *testing.T) *topology {
	t.Helper()
	var arcs, france []string
	add := func(points ...[2]float64) int {
		var line []string
		last := [2]float64{}
		for _, p := range points {
			line = append(line, fmt.Sprintf("[%v,%v]", p[0]-last[0], p[1]-last[1]))
			last = p
		}
		arcs = append(arcs, "["+strings.Join(line, ",")+"]")
		return len(arcs) - 1
	}
	square := func(x, y, half float64) int {
		return add([2]float64{x - half, y - half}, [2]float64{x + half, y - half}, [2]float64{x + half, y + half}, [2]float64{x - half, y + half}, [2]float64{x - half, y - half})
	}
	add([2]float64{32, 46}, [2]float64{36, 46})
	add([2]float64{36, 46}, [2]float64{36, 52}, [2]float64{32, 52}, [2]float64{32, 46})
	add([2]float64{36, 46}, [2]float64{36, 44}, [2]float64{32, 44}, [2]float64{32, 46})
	russia := square(100, 60, 5)
	edge := square(-169, 0, 4) // the edge is at -169
	dot := square(20, 20, 0.01)
	antarctica := square(0, -80, 5)
	var netherlands int
	for _, m := range moved[1:] {
		if at := square(m.in.x, m.in.y, 0.1); m.from == "FR" {
			france = append(france, fmt.Sprintf("[[%d]]", at))
		} else {
			netherlands = at
		}
	}
	text := fmt.Sprintf(`{"transform":{"scale":[1,1],"translate":[0,0]},"arcs":[%s],"objects":{"countries":{"geometries":[
		{"id":"643","type":"MultiPolygon","arcs":[[[%d]],[[-1,-3]]]},{"id":"804","type":"Polygon","arcs":[[1,0]]},
		{"id":"242","type":"Polygon","arcs":[[%d]]},{"id":"148","type":"Polygon","arcs":[[%d]]},{"id":"010","type":"Polygon","arcs":[[%d]]},
		{"id":"250","type":"MultiPolygon","arcs":[%s]},{"id":"528","type":"MultiPolygon","arcs":[[[%d]]]},
		{"type":"Polygon","arcs":[[%d]],"properties":{"name":"Siachen Glacier"}}]}}}`,
		strings.Join(arcs, ","), russia, edge, dot, antarctica, strings.Join(france, ","), netherlands, dot)
	topology, err := readTopology([]byte(text))
	expect.OK(t, err)
	return topology
}

func TestAreasOfOneCountryHaveNoLineBetweenThem(t *testing.T) {
	m := small(t)
	countries, err := m.countries()
	expect.OK(t, err)
	expect.Equal(t, len(countries["RU"]), 1, "areas of Russia")
	expect.MustEqual(t, len(countries["UA"]), 2, "areas of Ukraine")
	rings, err := m.joined(countries["UA"])
	expect.OK(t, err)
	expect.MustEqual(t, len(rings), 1, "rings: %v", rings)
	line := lineOf(rings[0], m.lines)
	expect.Equal(t, area(line), 4*8.0, "both areas together: %v", line)
	expect.That(t, contains(line, point{34, 45}) && contains(line, point{34, 50}) && !contains(line, point{34, 43}), "%v", line)
	_, err = m.joined([]polygon{{ring{0}}})
	expect.That(t, err != nil, "an open ring is joined")
	for _, code := range []string{"AQ", ""} {
		expect.Equal(t, len(countries[code]), 0, "%q", code)
	}
	for _, code := range []string{"GF", "GP", "MQ", "YT", "RE", "BQ"} {
		expect.That(t, len(countries[code]) > 0, "%s has no area", code)
	}
}

func TestAnAreaOverTheEdgeIsCut(t *testing.T) {
	for _, line := range [][]point{
		{{-173, -4}, {-165, -4}, {-165, 4}, {-173, 4}},
		{{187, -4}, {195, -4}, {195, 4}, {187, 4}},
		{{-165, -4}, {-165, 4}, {187, 4}, {187, -4}},
	} {
		parts, all := cut(line), 0.0
		expect.MustEqual(t, len(parts), 2, "%v", line)
		for _, part := range parts {
			left, right := math.Inf(1), math.Inf(-1)
			for _, p := range part {
				left, right = min(left, p.x), max(right, p.x)
			}
			expect.That(t, right-left == 4 && left >= -180 && right <= 180 && (left == -180 || right == 180), "%v", part)
			all += area(part)
		}
		expect.Equal(t, all, 64.0)
	}
	whole := cut([]point{{0, 0}, {1, 0}, {0, 1}})
	expect.Equal(t, fmt.Sprint(whole), "[[{-11 0} {-10 0} {-11 1}]]")
}

// Equal Earth is an equal-area projection: a cell of the grid has the area that it has on the earth.
func TestTheProjectionKeepsAreas(t *testing.T) {
	cell := func(x, y float64) float64 {
		return area([]point{project(point{x, y}), project(point{x + .1, y}), project(point{x + .1, y + .1}), project(point{x, y + .1})})
	}
	at := cell(0, 0)
	for _, p := range []point{{100, 0}, {-170, 30}, {50, 60}, {0, -50}, {179, 80}} {
		want := (math.Sin((p.y+.1)*math.Pi/180) - math.Sin(p.y*math.Pi/180)) / math.Sin(.1*math.Pi/180)
		got := cell(p.x, p.y) / at
		expect.That(t, math.Abs(got-want) < 1e-3, "at %v a cell has %v of one at the equator, want %v", p, got, want)
	}
	expect.That(t, project(point{-180, 0}).x == 0 && project(point{180, 0}).x == width && project(point{0, north}).y == 0, "the drawing begins elsewhere")
}

func TestALineKeepsItsEndsAndWhatStandsOut(t *testing.T) {
	line := []point{{0, 0}, {1, 0.0001}, {2, 0}, {3, 30}, {4, 0}, {5, 0}}
	got := simplified(line, 1)
	expect.Equal(t, fmt.Sprint(got[0], got[len(got)-1]), "{0 0} {5 0}")
	expect.That(t, len(got) < len(line) && strings.Contains(fmt.Sprint(got), "{3 30}"), "%v", got)
	expect.Equal(t, fmt.Sprint(line[1]), "{1 0.0001}", "the line was changed")
}

func TestADrawingHasDotsForWhatIsTooSmall(t *testing.T) {
	m := small(t)
	drawing, err := m.draw()
	expect.OK(t, err)
	text := string(drawing)
	expect.Contains(t, text, `<circle id="TD" `)
	for _, code := range []string{"RU", "UA", "FJ"} {
		expect.Contains(t, text, `<path id="`+code+`" d="M`)
	}
	_, fiji, _ := strings.Cut(text, `<path id="FJ" d="`)
	fiji, _, _ = strings.Cut(fiji, `"`)
	expect.Equal(t, strings.Count(fiji, "z"), 2, "Fiji is on both sides: %s", fiji)
	expect.That(t, strings.HasPrefix(text, "<svg ") && strings.HasSuffix(text, "</g></svg>\n"), "%s", text)
}

func TestAMapThatLacksWhatIsMovedIsRefused(t *testing.T) {
	m := small(t)
	m.Objects.Countries.Geometries = m.Objects.Countries.Geometries[1:]
	_, err := m.draw()
	expect.That(t, err != nil && strings.Contains(err.Error(), "RU has no area"), "%v", err)
	for _, text := range []string{"", "{}", `{"arcs":[[[0,0],[1,1]]]}`} {
		_, err := readTopology([]byte(text))
		expect.That(t, err != nil, "%q", text)
	}
}

// The file is what the program writes. It needs npm, so .ci/proof worldmap runs it.
func TestTheShapesAreWhatThisProgramWrites(t *testing.T) {
	if os.Getenv("SHUNTTEST_WORLDMAP") == "" {
		t.Skip(".ci/proof worldmap runs this test")
	}
	file := t.TempDir() + "/map.svg"
	expect.OK(t, run([]string{file}))
	got, err := os.ReadFile(file)
	expect.OK(t, err)
	want, err := os.ReadFile("../map.svg")
	expect.OK(t, err)
	expect.That(t, string(got) == string(want), "map.svg has %d bytes, and the program writes %d others: run go generate", len(want), len(got))
}
