// Package worldmap draws hits by country as a map of the world, in SVG. It is a leaf: it imports none of our packages,
// knows no HTTP, and returns the same bytes for the same input.
//
// # How a map is put together
//
// The shapes of all countries are one file, Shapes, which a browser keeps: each has the code of its country as id, and
// the group "land" has all of them. A page draws the land, and each country with hits once more over it:
//
//	figure.world > svg > use[href="FILE#land"], use.step1 … .step5[href="FILE#DE"] > title
//	  figcaption > span.key.step1 … .step5   the shares that the shades stand for
//	             > span                      countries that have hits and are not on the map
//
// So a page needs no inline style, a policy that allows images of its own origin suffices, and 50 countries cost a page
// less than 2 kB before it is compressed. The colours are of the page (Style), light and dark.
//
// Screen readers say only that it is a map, because the page has the same figures in a list beside it.
//
// # The shapes
//
// They are facts: Natural Earth's map of countries at 1:50 million, which is in the public domain, as the package of
// npm that the program in make names, at a version and with a hash. go generate writes map.svg from it; a build needs
// only map.svg. The projection is Equal Earth, in which areas can be compared; lines are simplified together with their
// neighbours', to what a drawing of 900 pixels shows. A country too small to be seen is a dot. Borders are those of
// Natural Earth, except where ISO 3166 has an area in another country: hits are counted by its codes.
//
// Rejected: the map in each page, 9 kB compressed each time; a picture, which has no shades of its own; Natural Earth's
// coarser map, which lacks 64 countries, Singapore and Malta among them, and is not smaller.
//
// Files, leaves first: shapes.go, worldmap.go.
package worldmap

//go:generate go run ./make map.svg
