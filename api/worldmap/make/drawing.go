package main

import (
	"math"
	"slices"
	"strconv"
)

// width is that of the drawing, in units: about the pixels that a page has for it.
const width = 900

// The drawing ends at these latitudes, and at the meridian opposite to the middle one, in the strait between Asia and
// America.
const (
	north  = 84
	south  = -57
	middle = 11
)

// project returns the place of a point in the drawing; its longitude is that from the middle meridian. It is the Equal
// Earth projection (Šavrič, Patterson, Jenny: The Equal Earth map projection, 2018): a country has the share of the
// drawing that it has of the earth, so that shades of countries can be compared.
func project(p point) point {
	const a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
	m := math.Sqrt(3) / 2
	at := func(longitude, latitude float64) (x, y float64) {
		theta := math.Asin(m * math.Sin(latitude*math.Pi/180))
		t2 := theta * theta
		t6 := t2 * t2 * t2
		x = longitude * math.Pi / 180 * math.Cos(theta) / (m * (a1 + 3*a2*t2 + t6*(7*a3+9*a4*t2)))
		return x, theta * (a1 + a2*t2 + t6*(a3+a4*t2))
	}
	x, y := at(p.x, p.y)
	edge, _ := at(180, 0)
	_, top := at(0, north)
	return point{(x + edge) * width / (2 * edge), (top - y) * width / (2 * edge)}
}

// height returns that of the drawing.
func height() int { return int(math.Ceil(project(point{0, south}).y)) }

// simplified returns a line without the points that matter least: those that stand out from their neighbours by a
// triangle of less than least square units of the drawing (Visvalingam and Whyatt, 1993). Its ends stay.
func simplified(line []point, least float64) []point {
	line = slices.Clone(line)
	drawn := make([]point, len(line))
	for i, p := range line {
		drawn[i] = project(p)
	}
	for len(line) > 2 {
		at, smallest := 0, least
		for i := 1; i < len(line)-1; i++ {
			if a := area(drawn[i-1 : i+2]); a < smallest {
				at, smallest = i, a
			}
		}
		if at == 0 {
			break
		}
		line, drawn = slices.Delete(line, at, at+1), slices.Delete(drawn, at, at+1)
	}
	return line
}

// cut cuts an area where the drawing ends: what is beyond comes in at the other side. The longitudes that it returns
// are those from the middle meridian.
func cut(line []point) (parts [][]point) {
	line = slices.Clone(line)
	line[0].x -= middle
	least, most := line[0].x, line[0].x
	for i := 1; i < len(line); i++ {
		line[i].x = line[i-1].x + math.Remainder(line[i].x-middle-line[i-1].x, 360)
		least, most = min(least, line[i].x), max(most, line[i].x)
	}
	for turn := math.Ceil((least - 180) / 360); turn*360-180 < most; turn++ {
		part := within(line, turn*360-180, 1)
		part = within(part, turn*360+180, -1)
		for i := range part {
			part[i].x -= turn * 360
		}
		parts = append(parts, part)
	}
	return parts
}

// within returns the part of an area that is east of a meridian, or with side -1 west of it (Sutherland and Hodgman,
// 1974).
func within(line []point, meridian, side float64) (part []point) {
	for i, p := range line {
		before := line[(i+len(line)-1)%len(line)]
		from, to := side*(before.x-meridian), side*(p.x-meridian)
		if from*to < 0 {
			part = append(part, point{meridian, before.y + (p.y-before.y)*from/(from-to)})
		}
		if to >= 0 {
			part = append(part, p)
		}
	}
	return part
}

// projected returns a line as it is drawn, on whole units, without points that fall on the one before.
func projected(line []point) (all []point) {
	for _, p := range line {
		p = project(p)
		p = point{math.Round(p.x), math.Round(p.y)}
		if len(all) == 0 || p != all[len(all)-1] {
			all = append(all, p)
		}
	}
	return all
}

// area returns that of a closed line, in square units.
func area(line []point) (sum float64) {
	for i, p := range line {
		q := line[(i+1)%len(line)]
		sum += p.x*q.y - q.x*p.y
	}
	return math.Abs(sum) / 2
}

// centre returns the middle of a closed line.
func centre(line []point) (c point) {
	var sum float64
	for i, p := range line {
		q := line[(i+1)%len(line)]
		part := p.x*q.y - q.x*p.y
		sum += part
		c.x, c.y = c.x+(p.x+q.x)*part, c.y+(p.y+q.y)*part
	}
	if sum == 0 {
		return line[0]
	}
	return point{c.x / (3 * sum), c.y / (3 * sum)}
}

// appendPath appends a closed line as data of a path.
func appendPath(path []byte, line []point) []byte {
	path = append(path, 'M')
	path = appendNumbers(path, line[0], false)
	for i, p := range line[1:] {
		by := point{p.x - line[i].x, p.y - line[i].y}
		if i == 0 {
			path = append(path, 'l')
		}
		path = appendNumbers(path, by, i > 0)
	}
	return append(path, 'z')
}

func appendNumbers(path []byte, p point, spaced bool) []byte {
	for i, n := range []float64{p.x, p.y} {
		if n >= 0 && (spaced || i > 0) {
			path = append(path, ' ')
		}
		path = strconv.AppendInt(path, int64(n), 10)
	}
	return path
}
