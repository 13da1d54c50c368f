// Package chart draws figures as HTML and SVG: a Chart of hits and visitors over time with the
// table behind it, Lines of several links, and Bars of a breakdown. It is a leaf: it imports none of our
// packages, knows no HTTP, and returns the same bytes for the same input.
//
// # How a chart is laid out
//
//	figure.chart-box             data-from, data-step, data-peak, data-open, data-zone: for the script
//	  figcaption                 what it shows, and .legend
//	  svg.chart                  as wide as the page, Height pixels high; lengths in pixels and %
//	    g.grid                   a line and a number for each tick of the y axis
//	    svg                      viewBox "0 0 buckets 1000", stretched: path.bar
//	    g.axis.dense, .sparse    labels of the x axis; the style shows one of the two
//	  p.chart-readout            a sentence, which the script changes
//	  details                    the table with every value
//
// A page does not know how wide it will be shown. If the whole drawing were scaled, its texts would
// be half as large on a phone. So only the bars are scaled: they are in an inner svg whose unit is
// one bucket across and a thousandth of the axis upwards. Texts keep their size, and there are two
// sets of labels of the x axis, one for a narrow and one for a wide drawing.
//
// Lines are laid out alike, without readout and without anything for the script. Each line has a colour and a pattern
// of its own, so that nobody needs to tell colours apart.
//
// Nothing needs a script or a style attribute. Every value is in the table; the script reads it
// there, row by row, so no value is sent twice.
//
// Style has the rules for all of these classes. It comes after the style of the dashboard.
//
// # Decisions
//
// Each bucket has no element of its own: all bars are one path, and the script computes positions
// from the number of buckets. With two rectangles and one with a title for each bucket, 400 days
// took 18.2 KB compressed, with the table; with paths they take 7.0 KB. Drawing them takes 1.1 ms.
//
// A chart with more than MaxBuckets buckets is an error. Visitors of several buckets cannot be
// added up, so this package cannot draw fewer, larger ones.
package chart
