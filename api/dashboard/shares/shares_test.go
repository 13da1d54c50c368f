package shares

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/ops"
	"shunt/engine/expect"
)

// addressed is a page whose addresses name the filter.
var addressed = Page{
	Map: "/map.svg", NoCountries: "No country.", Path: func(name, value string) string { return "/by?" + name + "=" + value },
}

// lineOf returns the line of a list with a label, as text with its address; "" if there is none.
func lineOf(l List, label string) string {
	for _, item := range strings.Split(string(l.Bars+l.More), "<li")[1:] {
		item = strings.ReplaceAll(strings.ReplaceAll(item, "<wbr>", ""), ` translate="no"`, "")
		if strings.Contains(item, "<bdi>"+label+"</bdi>") {
			return item
		}
	}
	return ""
}

func TestHostsOfOneSiteAreOneLineWithAllOfThem(t *testing.T) {
	lists := addressed.Of(&ops.Figures{Hits: 100, Referrers: []ops.ValueFigures{
		{Value: "blog.example", Hits: 30}, {Value: "direct", Hits: 20}, {Value: "l.facebook.com", Hits: 17}, {Value: "m.facebook.com", Hits: 10}, {Value: "facebook.com", Hits: 5},
		{Value: "lm.facebook.com", Hits: 4}, {Value: "t.co", Hits: 3}, {Value: "<b>.example", Hits: 1}, {Value: "other", Hits: 10},
	}})
	l := lists[0]
	facebook := lineOf(l, "Facebook")
	for _, want := range []string{`href="/by?site=Facebook"`, "l.facebook.com 17, m.facebook.com 10, facebook.com 5, 1 more", `<span class="num">36</span> <span class="share">36%</span>`} {
		expect.Contains(t, facebook, want)
	}
	expect.That(t, strings.Index(string(l.Bars), "Facebook") < strings.Index(string(l.Bars), "blog"), "a site is sorted by all of its hits: %s", l.Bars)
	expect.Contains(t, lineOf(l, "X"), `<bdi class="note">t.co</bdi>`)
	expect.Contains(t, lineOf(l, "blog.example"), `href="/by?referrer=blog.example"`)
	expect.Contains(t, lineOf(l, "Direct"), `href="/by?referrer=direct"`)
	expect.Contains(t, lineOf(l, "&lt;b&gt;.example"), "1%")
	rest := lineOf(l, "Other")
	expect.That(t, strings.Contains(rest, `<span class="num">10</span>`) && !strings.Contains(rest, "href"), "what has no value leads nowhere: %s", rest)
	expect.That(t, strings.HasSuffix(string(l.Bars), rest+"</ol>") || strings.Contains(string(l.Bars), `class="rest"`), "%s", l.Bars)
}

func TestCountriesHaveNamesFlagsAndAMap(t *testing.T) {
	f := ops.Figures{Hits: 10, Countries: []ops.ValueFigures{{Value: "DE", Hits: 6}, {Value: "XK", Hits: 1}, {Value: "other", Hits: 3}}}
	lists := addressed.Of(&f)
	l := lists[3]
	expect.Equal(t, l.Title, "Countries")
	expect.Contains(t, lineOf(l, "Germany"), `<a href="/by?country=DE"><span class="flag" aria-hidden="true">🇩🇪</span> <bdi>Germany</bdi></a>`)
	expect.Contains(t, lineOf(l, "Kosovo"), "10%")
	expect.Contains(t, lineOf(l, "Unknown"), "30%")
	expect.Contains(t, string(l.Map), `<use href="/map.svg#DE" class="step5"><title>Germany: 6 (60%)</title>`)
	expect.That(t, lists.Mapped(), "the lists have a map")
	f.Countries = []ops.ValueFigures{{Value: "other", Hits: 10}}
	lists = addressed.Of(&f)
	expect.That(t, !lists.Mapped() && lists[3].None == "No country." && lists[3].Map == "", "no country is known: %+v", lists[3])
	lists = addressed.Of(&ops.Figures{})
	for _, l := range lists {
		expect.Equal(t, l.None, "No hits in this time.", l.Title)
	}
}

// Beyond the values that are shown, countries may be known and not shown.
func TestTheLastLineSaysWhatItHas(t *testing.T) {
	for _, c := range []struct {
		list string
		n    int
		want string
	}{
		{"countries", 49, "Unknown"}, {"countries", 50, "Others and unknown"}, {"devices", 5, "Unknown"}, {"browsers", 30, "Unknown"},
		{"referrers", 0, "Other"}, {"referrers", 50, "Other"},
	} {
		expect.Equal(t, restOf(c.list, c.n), c.want, "%s of %d", c.list, c.n)
	}
}

func TestAPageWithoutFiltersHasNoAddresses(t *testing.T) {
	lists := Page{}.Of(&ops.Figures{Hits: 2, Referrers: []ops.ValueFigures{{Value: "t.co", Hits: 1}, {Value: "x.example", Hits: 1}}})
	expect.That(t, !strings.Contains(string(lists[0].Bars), "href"), "%s", lists[0].Bars)
}

func TestALongListIsFolded(t *testing.T) {
	var values []ops.ValueFigures
	for i := range 20 {
		values = append(values, ops.ValueFigures{Value: fmt.Sprintf("s%02d.example", i), Hits: 1})
	}
	l := addressed.Of(&ops.Figures{Hits: 20, Referrers: values})[0]
	expect.Equal(t, l.Folded, 10)
	expect.That(t, strings.Count(string(l.Bars), "<li") == 10 && strings.Count(string(l.More), "<li") == 10, "%s", l.More)
}

func TestAFilterIsReadFromAnAddress(t *testing.T) {
	for query, want := range map[string]string{
		"country=DE": "countries Country Germany 🇩🇪", "device=mobile": "devices Device Phone ", "browser=Firefox": "browsers Browser Firefox ",
		"referrer=direct": "referrers Referrer Direct ", "referrer=l.facebook.com": "referrers Referrer Facebook ", "site=Facebook": "referrers Referrer Facebook ",
		"country=ZZ": "", "country=de": "", "site=evil.example": "", "": "", "country=DE&device=mobile": "", "tag=x": "", "referrer=" + strings.Repeat("a", 254): "",
	} {
		f, ok := ReadFilter(func(name string) string {
			for _, pair := range strings.Split(query, "&") {
				if value, found := strings.CutPrefix(pair, name+"="); found {
					return value
				}
			}
			return ""
		})
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %s %s", f.List, f.Kind, f.Label, f.Flag)
		}
		expect.Equal(t, got, want, "%s", query)
	}
}

func TestAFilterChoosesItsValuesAlone(t *testing.T) {
	only := func(name, value string) Filter {
		f, ok := ReadFilter(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		expect.MustThat(t, ok, "%s=%s", name, value)
		return f
	}
	site, host := only("site", "Facebook"), only("referrer", "l.facebook.com")
	for value, want := range map[string][2]bool{"l.facebook.com": {true, true}, "facebook.com": {true, false}, "facebook.com.evil.example": {}, "": {}, "direct": {}} {
		expect.Equal(t, [2]bool{site.Has(value), host.Has(value)}, want, "%q", value)
	}
	expect.Contains(t, site.Keeps(), "the referrer of a hit is not known together with its country, device or browser")
	country := only("country", "DE")
	expect.Contains(t, country.Keeps(), "the country of a hit is not known together with its referrer, device or browser")
}

func TestHostsOfASiteAreListed(t *testing.T) {
	f := ops.Filtered{Chosen: 10, Values: []ops.ValueFigures{{Value: "t.co", Hits: 6}, {Value: "x.com", Hits: 3}}}
	l := Hosts(&f, addressed.Path)
	expect.MustThat(t, l != nil, "no list")
	expect.Contains(t, lineOf(*l, "t.co"), `href="/by?referrer=t.co"`)
	expect.Contains(t, lineOf(*l, "Other"), `<span class="num">1</span>`)
	f.Values = f.Values[:1]
	expect.That(t, Hosts(&f, addressed.Path) == nil, "one host is a list")
}
