package chart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestLinesHaveEveryValueANameAndAPatternOfTheirOwn(t *testing.T) {
	base := chartOf(Day, 0, 0, 0)
	lines := Lines{Chart: base, Of: []Line{{"a<b", []uint64{1, 200, 3}}, {"c", []uint64{0, 0, 50}}}}
	html, err := lines.HTML()
	expect.OK(t, err)
	got := string(html)
	for _, want := range []string{
		"a&lt;b</span>", `<path class="line line-1" d="M.5 992L1.5 0L2.5 985"/>`, `<path class="line line-2" d="M.5 1000L1.5 1000L2.5 750"/>`,
		"<th scope=col>a&lt;b<th scope=col>c<tbody>", "<tr><th scope=row>2026-02-28<td>200<td>0", "<tr><th scope=row>2026-03-01 (so far)<td>3<td>50",
	} {
		expect.Contains(t, got, want, "lines")
	}
	for i := range MaxLines {
		expect.Contains(t, Style, fmt.Sprintf(".line-%d { --line-color", i+1), "the style")
	}
	colours := regexp.MustCompile(`--line-color: (#[0-9a-f]+)`).FindAllString(Style, -1)
	seen := make(map[string]bool)
	for _, colour := range colours {
		expect.That(t, !seen[colour], "%s is there twice", colour)
		seen[colour] = true
	}
	expect.Equal(t, len(seen), 2*MaxLines, "colours, light and dark")
}

func TestLinesOfOneBucketAndOfNoneAreDrawn(t *testing.T) {
	html, err := Lines{Chart: chartOf(Hour, 0), Of: []Line{{"a", []uint64{4}}}}.HTML()
	expect.OK(t, err)
	expect.Contains(t, string(html), `d="M.3 0H.7"`, "one bucket")
	html, err = Lines{Chart: chartOf(Hour, 0, 0), Of: []Line{{"a", []uint64{0, 0}}}}.HTML()
	expect.OK(t, err)
	expect.Contains(t, string(html), "No hits in this time", "no hits")
	_, err = Lines{}.HTML()
	expect.Equal(t, err, ErrNoBuckets, "no buckets")
}

func TestHoursAreThoseOfTheZone(t *testing.T) {
	c := chartOf(Hour, 1, 2, 3) // 10, 11 and 12 o'clock, UTC
	berlin, err := time.LoadLocation("Europe/Berlin")
	expect.OK(t, err)
	c.Zone = berlin
	html := mustDraw(t, c)
	for _, want := range []string{`data-zone="Europe/Berlin"`, "<tr><th scope=row>2026-03-01 11:00<td>1", "(Europe/Berlin)", fmt.Sprintf(`data-from="%d"`, c.Buckets[0].From.Unix())} {
		expect.Contains(t, html, want, "hours of Berlin")
	}
	expect.That(t, !strings.Contains(html, ">10:00"), "an hour of UTC: %s", html)
}
