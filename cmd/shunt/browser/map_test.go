package browser

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

// countryHeader is the header by which the demo's visitors say where they are.
const countryHeader = "CF-IPCountry"

// The shapes of the map are in a file of their own, which the policy of the pages must let the browser draw.
func TestTheMapIsDrawnFromItsFile(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/", as: admin})
	b.until("the shapes are there", func() bool {
		return eval[bool](b, `[...document.querySelectorAll('.world use')].every(u => u.getBBox().width > 0)`)
	})
	colours := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('.world use')].map(u => [u.href.baseVal.split('#')[1], getComputedStyle(u).fill]))`)
	expect.That(t, len(colours) == 6 && colours["US"] != colours["land"] && colours["SG"] != colours["US"], "got %v", colours)
}

func TestADayOfAChartIsOpenedByAClick(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/?period=7d", as: admin})
	b.loading(200, func() {
		x, y := b.place("svg.chart")
		width := eval[float64](b, `document.querySelector('svg.chart').getBoundingClientRect().width`)
		b.point(x+width/2-3, y) // the last day
		b.press(x+width/2-3, y, 1)
	})
	address := b.watch.address()
	expect.That(t, strings.Contains(address, "from=") && strings.Contains(address, "to="), "the address is %s", address)
	b = d.open(t, row{path: "/_/?period=7d", as: admin})
	b.loading(200, func() {
		eval[any](b, `document.querySelector('figure.chart-box').focus()`)
		b.key("End")
		b.key("Enter")
	})
	expect.Equal(t, b.watch.address(), address, "by keyboard")
}
