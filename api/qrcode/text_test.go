package qrcode

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestTextHasTheModules(t *testing.T) {
	q, err := Encode("https://sho.rt/spring", Usual)
	expect.OK(t, err)
	lines := strings.Split(strings.TrimSuffix(string(q.Text()), "\n"), "\n")
	expect.MustEqual(t, len(lines), (q.width+1)/2, "lines")
	for y, line := range lines {
		for x, c := range []rune(line) {
			upper, lower := c == '▄' || c == ' ', c == '▀' || c == ' '
			expect.Equal(t, upper, q.black(x, 2*y), "module %d, %d", x, 2*y)
			expect.Equal(t, lower, 2*y+1 >= q.width || q.black(x, 2*y+1), "module %d, %d", x, 2*y+1)
		}
	}
}
