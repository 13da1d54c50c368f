package icon

import (
	"strconv"

	"golang.org/x/exp/shiny/iconvg"
)

// A path is the data of an SVG path, which it collects as the destination of an IconVG graphic: the drawing operations
// of the two formats are the same. Colours and levels of detail are left out, for an icon has the colour of the text.
type path []byte

// pathOf returns the path of a graphic.
func pathOf(graphic []byte) (string, error) {
	var p path
	err := iconvg.Decode(&p, graphic, nil)
	return string(p), err
}

// draw adds an operation with its coordinates, to a hundredth: an icon is 48 units wide.
func (p *path) draw(operation string, coordinates ...float32) {
	*p = append(*p, operation...)
	for i, c := range coordinates {
		if i > 0 && c >= 0 {
			*p = append(*p, ' ')
		}
		*p = strconv.AppendFloat(*p, float64(int(c*100+half(c)))/100, 'f', -1, 32)
	}
}

// half rounds away from zero, once added.
func half(c float32) float32 {
	if c < 0 {
		return -0.5
	}
	return 0.5
}

// arc adds an elliptical arc; flags of 0 and 1 are coordinates, too.
func (p *path) arc(operation string, rx, ry, rotation float32, large, sweep bool, x, y float32) {
	flag := map[bool]float32{true: 1}
	p.draw(operation, rx, ry, rotation*360, flag[large], flag[sweep], x, y) // IconVG has turns, SVG degrees
}

func (p *path) Reset(iconvg.Metadata)             {}
func (p *path) SetCSel(uint8)                     {}
func (p *path) SetNSel(uint8)                     {}
func (p *path) SetCReg(uint8, bool, iconvg.Color) {}
func (p *path) SetNReg(uint8, bool, float32)      {}
func (p *path) SetLOD(_, _ float32)               {}

func (p *path) StartPath(_ uint8, x, y float32)                   { p.draw("M", x, y) }
func (p *path) ClosePathEndPath()                                 { p.draw("z") }
func (p *path) ClosePathAbsMoveTo(x, y float32)                   { p.draw("zM", x, y) }
func (p *path) ClosePathRelMoveTo(x, y float32)                   { p.draw("zm", x, y) }
func (p *path) AbsHLineTo(x float32)                              { p.draw("H", x) }
func (p *path) RelHLineTo(x float32)                              { p.draw("h", x) }
func (p *path) AbsVLineTo(y float32)                              { p.draw("V", y) }
func (p *path) RelVLineTo(y float32)                              { p.draw("v", y) }
func (p *path) AbsLineTo(x, y float32)                            { p.draw("L", x, y) }
func (p *path) RelLineTo(x, y float32)                            { p.draw("l", x, y) }
func (p *path) AbsSmoothQuadTo(x, y float32)                      { p.draw("T", x, y) }
func (p *path) RelSmoothQuadTo(x, y float32)                      { p.draw("t", x, y) }
func (p *path) AbsQuadTo(x1, y1, x, y float32)                    { p.draw("Q", x1, y1, x, y) }
func (p *path) RelQuadTo(x1, y1, x, y float32)                    { p.draw("q", x1, y1, x, y) }
func (p *path) AbsSmoothCubeTo(x2, y2, x, y float32)              { p.draw("S", x2, y2, x, y) }
func (p *path) RelSmoothCubeTo(x2, y2, x, y float32)              { p.draw("s", x2, y2, x, y) }
func (p *path) AbsCubeTo(x1, y1, x2, y2, x, y float32)            { p.draw("C", x1, y1, x2, y2, x, y) }
func (p *path) RelCubeTo(x1, y1, x2, y2, x, y float32)            { p.draw("c", x1, y1, x2, y2, x, y) }
func (p *path) AbsArcTo(a, b, r float32, l, s bool, x, y float32) { p.arc("A", a, b, r, l, s, x, y) }
func (p *path) RelArcTo(a, b, r float32, l, s bool, x, y float32) { p.arc("a", a, b, r, l, s, x, y) }
