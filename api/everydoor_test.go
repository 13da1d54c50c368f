package api

import (
	"testing"
)

// A door is who answers plain requests on a public listener on a socket: event loops, the lane of
// connections that fasthttp owns, or fasthttp itself. All doors must give the same answers, keep and
// close the same connections, and count the same.
type door struct {
	name  string
	front Front
	loops int
}

var doors = []door{
	{"fasthttp", FrontFasthttp, 0},
	{"lane", FrontAuto, -1},
	{"loop", FrontAuto, 1},
	{"loops", FrontAuto, 2},
}

// options returns change with the options of d.
func (d door) options(change func(*Options)) func(*Options) {
	return func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Front, o.Loops = d.front, d.loops
	}
}

// everyDoor runs a test once through each door, on a site of its own.
func everyDoor(t *testing.T, change func(*Options), test func(t *testing.T, st *site)) {
	t.Helper()
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) { test(t, newSite(t, d.options(change))) })
	}
}
