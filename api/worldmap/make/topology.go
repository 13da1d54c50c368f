package main

import (
	"encoding/json"
	"fmt"
)

// A topology is a map in TopoJSON. Countries that touch share the line between them, an arc.
type topology struct {
	Transform struct {
		Scale     [2]float64
		Translate [2]float64
	}
	Arcs    [][][2]float64 // each point but the first is the difference to the one before it
	Objects struct {
		Countries struct {
			Geometries []geometry
		}
	}

	lines [][]point // of the arcs
}

// A geometry is a country.
type geometry struct {
	ID         string // the number that ISO 3166-1 gives to the country; "": none
	Type       string
	Arcs       json.RawMessage
	Properties struct{ Name string }
}

// A point has a longitude and a latitude in degrees, or a place in the drawing.
type point struct{ x, y float64 }

// A ring is a closed line of arcs. An arc's number is its index, or ^index for the arc from its end to its beginning.
type ring []int

// A polygon is an area: its outline, and the outlines of the holes in it.
type polygon []ring

// readTopology reads a map in TopoJSON.
func readTopology(text []byte) (*topology, error) {
	t := new(topology)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	if len(t.Arcs) == 0 || len(t.Objects.Countries.Geometries) == 0 {
		return nil, fmt.Errorf("the map has no countries")
	}
	for _, arc := range t.Arcs {
		line := make([]point, len(arc))
		var x, y float64
		for i, p := range arc {
			x, y = x+p[0], y+p[1]
			line[i] = point{x*t.Transform.Scale[0] + t.Transform.Translate[0], y*t.Transform.Scale[1] + t.Transform.Translate[1]}
		}
		t.lines = append(t.lines, line)
	}
	return t, nil
}

// polygons returns the areas of a country.
func (g *geometry) polygons() (all []polygon, err error) {
	switch g.Type {
	case "Polygon":
		all = make([]polygon, 1)
		err = json.Unmarshal(g.Arcs, &all[0])
	case "MultiPolygon":
		err = json.Unmarshal(g.Arcs, &all)
	default:
		err = fmt.Errorf("%s is a %q", g.Properties.Name, g.Type)
	}
	return all, err
}

// joined returns the rings around areas as if they were one: without the arcs between two of them.
func (t *topology) joined(areas []polygon) (all []ring, err error) {
	left := make(map[int]bool)
	var order []int
	for _, p := range areas {
		for _, r := range p {
			for _, arc := range r {
				if left[^arc] {
					delete(left, ^arc)
					continue
				}
				left[arc] = true
				order = append(order, arc)
			}
		}
	}
	from := make(map[point][]int)
	for _, arc := range order {
		if left[arc] {
			begin, _ := t.ends(arc)
			from[begin] = append(from[begin], arc)
		}
	}
	for _, first := range order {
		if !left[first] {
			continue
		}
		r := ring{first}
		delete(left, first)
		begin, end := t.ends(first)
		for end != begin {
			next, ok := firstOf(from[end], left)
			if !ok {
				return nil, fmt.Errorf("arc %d begins a ring that is not closed", first)
			}
			r = append(r, next)
			delete(left, next)
			_, end = t.ends(next)
		}
		all = append(all, r)
	}
	return all, nil
}

func firstOf(arcs []int, left map[int]bool) (arc int, ok bool) {
	for _, arc := range arcs {
		if left[arc] {
			return arc, true
		}
	}
	return 0, false
}

// ends returns where an arc begins and ends.
func (t *topology) ends(arc int) (begin, end point) {
	line := t.lines[max(arc, ^arc)]
	begin, end = line[0], line[len(line)-1]
	if arc < 0 {
		begin, end = end, begin
	}
	return begin, end
}
