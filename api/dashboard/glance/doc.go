// Package glance draws what a row of a list shows at a glance: the hits of a link by day as a small line, and the host
// of its target as a letter. It draws inline, with classes of the style alone, because the policy of the pages allows
// no attribute style. Both are for the eye: the row has the figure and the host in words.
//
// Files, leaves first: line.go, mark.go.
package glance
