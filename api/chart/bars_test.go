package chart

import (
	"math"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestNumbersAreGroupedAndShortened(t *testing.T) {
	for n, want := range map[uint64][2]string{
		0: {"0", "0"}, 999: {"999", "999"}, 1000: {"1,000", "1k"}, 1200: {"1,200", "1.2k"}, 1999: {"1,999", "1.9k"},
		12_345: {"12,345", "12k"}, 999_999: {"999,999", "999k"}, 3_400_000: {"3,400,000", "3.4M"},
		5e9: {"5,000,000,000", "5B"}, 2e15: {"2,000,000,000,000,000", "2,000T"},
		math.MaxUint64: {"18,446,744,073,709,551,615", "18,446,744T"},
	} {
		grouped, short := Grouped(n), Short(n)
		expect.That(t, grouped == want[0] && short == want[1], "%d: got %s and %s, want %s and %s", n, grouped, short, want[0], want[1])
	}
}

func TestSharesAreExactAtTheirEnds(t *testing.T) {
	for _, c := range []struct {
		part, total uint64
		want        string
	}{
		{0, 0, "0%"}, {0, 9, "0%"}, {1, 1e6, "<1%"}, {1, 201, "<1%"}, {1, 200, "1%"}, {1, 80, "1%"}, {3, 7, "43%"}, {2, 7, "29%"}, {1, 7, "14%"}, {1, 10, "10%"}, {994, 1000, "99%"},
		{995, 1000, ">99%"}, {999_999, 1e6, ">99%"}, {7, 7, "100%"}, {8, 7, "100%"},
	} {
		expect.Equal(t, Share(c.part, c.total), c.want, "%d of %d", c.part, c.total)
	}
}

func TestBarsHaveLabelValueAndShare(t *testing.T) {
	got := string(Bars([]Row{
		{Label: "<news>", Value: 1500}, {Label: "other", Value: 500, Rest: true}, {Label: "news.example.org"},
		{Label: "Germany", Flag: "🇩🇪", Path: "/by?country=DE&x", Note: "a <note>"},
	}, 2000))
	for _, want := range []string{
		`<bdi translate="no">news<wbr>.example<wbr>.org</bdi>`,
		`<span class="label"><bdi>&lt;news&gt;</bdi></span> <span class="num">1,500</span> <span class="share">75%</span>`,
		`<rect width="75%" height="100%"/>`, `<li class="rest">`,
		`<a href="/by?country=DE&amp;x"><span class="flag" aria-hidden="true">🇩🇪</span> <bdi>Germany</bdi></a> <bdi class="note">a &lt;note&gt;</bdi></span>`,
	} {
		expect.That(t, strings.Contains(got, want), "lacks %s:\n%s", want, got)
	}
}
