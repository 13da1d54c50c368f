package tally

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func TestCountriesMapToTheirCodesAndBack(t *testing.T) {
	seen := make(map[Country]bool)
	for i := 0; i < len(countryCodes); i += 2 {
		code := countryCodes[i : i+2]
		c := CountryOf(code)
		expect.That(t, c != 0 && !seen[c] && c.String() == code && Countries.Name(string([]byte{byte(c)})) == code, "%s is country %d, which is %s", code, c, c)
		seen[c] = true
	}
	if len(seen) != 250 { // 249 of ISO 3166-1, and XK
		t.Errorf("%d countries", len(seen))
	}
	expect.That(t, CountryOf("se") == CountryOf([]byte("SE")) && CountryOf("SE").String() == "SE", "SE in lower case is another country")
	for _, code := range []string{"", "D", "DEU", "XX", "T1", "A1", "@@", "[[", "ÄÖ", "\xff\xff"} {
		expect.Equal(t, CountryOf(code), 0, "%q", code)
	}
	expect.That(t, Country(251).String() == "unknown" && Country(0).String() == "unknown", "a number beyond the list has a code")
}

// TestValuesKeepTheirNumbers keeps journals and stores of earlier versions readable.
func TestValuesKeepTheirNumbers(t *testing.T) {
	for got, want := range map[string]string{
		fmt.Sprint(Referrers, Countries, Devices, Browsers):                   "0 1 2 3",
		fmt.Sprint(Desktop, Mobile, Tablet, TV, Console):                      "desktop mobile tablet tv console",
		fmt.Sprint(uint8(Desktop), uint8(Console)):                            "1 5",
		fmt.Sprint(uint8(Chrome), uint8(Edge), uint8(CommandLine)):            "1 4 28",
		fmt.Sprint(Browser(1), Browser(6), Browser(28), Browser(200)):         "Chrome Samsung Internet command line unknown",
		fmt.Sprint(Country(1), Country(57), Country(128), Country(250)):       "AD DE LC XK",
		Referrers.Name("") + " " + Referrers.Name("a.example"):                "direct a.example",
		Devices.Name("\x02") + " " + Browsers.Name("\x03"):                    "mobile Firefox",
		Countries.Name("") + " " + Devices.Name("\x0f") + Browsers.Name("ab"): "unknown unknownunknown",
	} {
		expect.Equal(t, got, want)
	}
}

// TestABreakdownKeepsItsErrorBoundHoweverItIsMerged merges skewed streams of many more values than
// are kept, in random groupings.
func TestABreakdownKeepsItsErrorBoundHoweverItIsMerged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		zipf := rand.NewZipf(rng, rapid.Float64Range(1.01, 2).Draw(rt, "exponent"), 1, rapid.Uint64Range(10, 3000).Draw(rt, "values"))
		exact := make(map[string]uint64)
		var parts []Breakdown
		hits := uint64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "parts") {
			var part Breakdown
			counts := make(map[string]uint64)
			for range rapid.IntRange(1, 4000).Draw(rt, "hits") {
				value := fmt.Sprint(zipf.Uint64())
				counts[value]++
				exact[value]++
				hits++
			}
			for value, n := range counts {
				part = append(part, ValueHits{value, n})
			}
			slices.SortFunc(part, func(a, b ValueHits) int { return cmp.Compare(a.Value, b.Value) })
			parts = append(parts, part.Cut())
		}
		for len(parts) > 1 { // merge two neighbours
			i := rng.IntN(len(parts) - 1)
			parts[i].Add(parts[i+1])
			parts = slices.Delete(parts, i+1, i+2)
		}
		checkBreakdown(rt, parts[0], exact, hits)
	})
}

func checkBreakdown(rt *rapid.T, b Breakdown, exact map[string]uint64, hits uint64) {
	expect.MustThat(rt, len(b) <= MaxValues && slices.IsSortedFunc(b, func(x, y ValueHits) int { return cmp.Compare(x.Value, y.Value) }),
		"%d values, or not sorted", len(b))
	low := (hits - b.Sum()) / (MaxValues + 1)
	expect.That(rt, len(exact) > MaxValues || b.Sum() == hits, "%d values are not counted exactly", len(exact))
	got := make(map[string]uint64)
	for _, v := range b {
		got[v.Value] = v.Hits
	}
	for value, n := range exact {
		expect.That(rt, got[value] <= n && got[value]+low >= n, "%s has %d hits, shown are %d, which may be %d too low", value, n, got[value], low)
	}
}

func TestTheTopOfABreakdownIsInDescendingOrder(t *testing.T) {
	b := Breakdown{{"a", 2}, {"b", 5}, {"c", 2}, {"d", 7}}
	expect.Slices(t, b.Top(3), []ValueHits{{"d", 7}, {"b", 5}, {"a", 2}})
	expect.Equal(t, len(b.Top(9)), 4, "of 4 values")
}

// However many sites there are, and in whatever order tallies are merged, scans are counted exactly.
func TestScansAreExactInAnyBreakdown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		exact := make(map[string]uint64)
		var sum Breakdown
		hits := uint64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "parts") {
			var part Breakdown
			counts := make(map[string]uint64)
			for range rapid.IntRange(1, 2000).Draw(rt, "hits") {
				value := fmt.Sprint("site", rng.IntN(1000))
				if rng.IntN(500) == 0 {
					value = ScanName
				}
				counts[value]++
				exact[value]++
				hits++
			}
			for value, n := range counts {
				part = append(part, ValueHits{value, n})
			}
			slices.SortFunc(part, func(a, b ValueHits) int { return cmp.Compare(a.Value, b.Value) })
			sum.Add(part.Cut())
		}
		expect.Equal(rt, sum.Scans(), exact[ScanName], "scans")
		expect.That(rt, len(sum) <= MaxValues, "%d values", len(sum))
		low := (hits - sum.Sum()) / MaxValues
		for _, v := range sum {
			expect.That(rt, v.Hits <= exact[v.Value] && v.Hits+low >= exact[v.Value], "%s has %d hits, shown are %d", v.Value, exact[v.Value], v.Hits)
		}
	})
}
