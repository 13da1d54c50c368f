package qrcode

// Text draws q with a character for two modules, one above the other, for a terminal. Light modules are drawn and dark
// ones left out, as scanners read it on a dark ground; on a light one most read the inverse, too.
func (q Code) Text() []byte {
	halves := [2][2]string{{"█", "▀"}, {"▄", " "}} // by whether the upper, and the lower module is black
	var b []byte
	for y := 0; y < q.width; y += 2 {
		for x := range q.width {
			b = append(b, halves[bit(q.black(x, y))][bit(y+1 >= q.width || q.black(x, y+1))]...)
		}
		b = append(b, '\n')
	}
	return b
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}
