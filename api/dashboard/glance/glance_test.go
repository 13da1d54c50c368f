package glance

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// points follows a path of Line, and returns its heights at each step.
func points(t expect.T, d string) (all []int) {
	number := func() (n int) {
		d = strings.TrimPrefix(d, " ")
		end := 1
		for end < len(d) && d[end] >= '0' && d[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(d[:end])
		expect.OK(t, err, "in %q", d)
		d = d[end:]
		return n
	}
	for d != "" {
		op := d[0]
		d = d[1:]
		switch op {
		case 'M':
			expect.Equal(t, number(), 0, "where it begins")
			all = append(all, number())
		case 'h':
			for range number() / lineStep {
				all = append(all, all[len(all)-1])
			}
		case 'l':
			expect.Equal(t, number(), lineStep)
			all = append(all, all[len(all)-1]+number())
		default:
			t.Fatalf("the path has %q", op)
		}
	}
	return all
}

func TestALineHasEachValueAtItsHeight(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Max(3), rapid.Uint64()), 2, 40).Draw(rt, "values")
		most := uint64(0)
		for _, v := range values {
			most = max(most, v)
		}
		svg := string(Line(values))
		if most == 0 {
			expect.Equal(rt, svg, "")
			return
		}
		expect.OK(rt, xml.Unmarshal([]byte(svg), new(struct{})), svg)
		_, d, _ := strings.Cut(svg, `d="`)
		d, _, _ = strings.Cut(d, `"`)
		got := points(rt, d)
		expect.MustEqual(rt, len(got), len(values), "points of %s", d)
		for i, v := range values {
			want := lineHeight - lineTop - (lineHeight-2*lineTop)*float64(v)/float64(most)
			expect.That(rt, math.Abs(float64(got[i])-want) <= .5+1e-9, "value %d of %d is at %d, want %.2f", v, most, got[i], want)
		}
	})
}

func TestAMarkIsALetterAndAColour(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.org": "E", "WWW.Example.org": "E", "1.2.3.4": "1", "[::1]:80": "1", "xn--bcher-kva.example": "B", "xn--fsq.example": "例", "": "?", "-": "?",
		"élan.example": "É",
	} {
		mark := string(Mark(host))
		expect.That(t, strings.HasSuffix(mark, `aria-hidden="true">`+want+`</span>`), "%q: got %s, want %s", host, mark, want)
	}
	expect.Equal(t, Mark("www.example.org"), Mark("example.org"))
	colours := make(map[string]bool)
	for i := range 100 {
		class, _, _ := strings.Cut(string(Mark("h"+strconv.Itoa(i)+".example")), `" aria`)
		colours[class] = true
	}
	expect.Equal(t, len(colours), Colours, "colours of a hundred hosts")
}
