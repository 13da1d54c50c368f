// Package icon draws the icons of the pages as inline SVG, so that a page has no further request for them. They are
// Google's Material icons, which golang.org/x/exp/shiny has in the format IconVG. A program has only the icons of the
// table: the others are variables that nobody uses.
//
// An icon is for the eye alone: what it stands in has a name in words.
//
// Files, leaves first: path.go, icon.go.
package icon
