package worldmap

import (
	_ "embed"
	"regexp"
)

// Shapes is the file of all shapes, an SVG image.
//
//go:embed map.svg
var Shapes string

var idOfShape = regexp.MustCompile(` id="([A-Z]{2})"`)

// drawn are the codes of the countries that have a shape.
var drawn = func() map[string]bool {
	codes := make(map[string]bool)
	for _, m := range idOfShape.FindAllStringSubmatch(Shapes, -1) {
		codes[m[1]] = true
	}
	return codes
}()

// viewBox is that of the shapes, for drawings of them.
var viewBox = regexp.MustCompile(` viewBox="([0-9 ]+)"`).FindStringSubmatch(Shapes)[1]
