package icon

import (
	"encoding/xml"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestEveryIconIsAPath(t *testing.T) {
	for name := range graphics {
		svg, err := HTML(name)
		expect.OK(t, err)
		expect.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})), name)
		expect.That(t, strings.Contains(string(svg), `d="M`) && strings.HasSuffix(string(svg), `z"/></svg>`), "%s is %s", name, svg)
		expect.That(t, len(svg) < 900, "%s has %d bytes", name, len(svg))
	}
	_, err := HTML("unknown")
	expect.That(t, err != nil && strings.Contains(err.Error(), `"unknown"`), "the error of an unknown icon is %v", err)
}

// TestAPathHasAllOperations draws each operation once.
func TestAPathHasAllOperations(t *testing.T) {
	var p path
	p.StartPath(0, 1, -2)
	p.AbsHLineTo(0.256)
	p.RelHLineTo(-0.5)
	p.AbsVLineTo(3)
	p.RelVLineTo(4)
	p.AbsLineTo(1, 2)
	p.RelLineTo(-1, -2.005)
	p.AbsQuadTo(1, 2, 3, 4)
	p.RelQuadTo(1, 2, 3, 4)
	p.AbsSmoothQuadTo(5, 6)
	p.RelSmoothQuadTo(5, 6)
	p.AbsCubeTo(1, 2, 3, 4, 5, 6)
	p.RelCubeTo(1, 2, 3, 4, 5, 6)
	p.AbsSmoothCubeTo(1, 2, 3, 4)
	p.RelSmoothCubeTo(1, 2, 3, 4)
	p.ClosePathAbsMoveTo(7, 8)
	p.AbsArcTo(2, 2, 0.25, true, false, 1, 1)
	p.ClosePathRelMoveTo(-7, 8)
	p.RelArcTo(2, 2, 0, false, true, 1, 1)
	p.ClosePathEndPath()
	expect.Equal(t, string(p), "M1-2H0.26h-0.5V3v4L1 2l-1-2.01Q1 2 3 4q1 2 3 4T5 6t5 6C1 2 3 4 5 6c1 2 3 4 5 6S1 2 3 4s1 2 3 4zM7 8A2 2 90 1 0 1 1zm-7 8a2 2 0 0 1 1 1z")
}
