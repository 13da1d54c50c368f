package chart

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

var update = flag.Bool("update", false, "write the golden chart")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// chartOf returns a chart whose last bucket has noon in it.
func chartOf(interval Interval, figures ...uint64) Chart {
	step := interval.duration()
	from := noon.Truncate(step).Add(-step * time.Duration(len(figures)-1))
	c := Chart{ID: "hits", Caption: "Hits and visitors", Interval: interval, Now: noon}
	for i, figure := range figures {
		c.Buckets = append(c.Buckets, Bucket{from.Add(step * time.Duration(i)), figure, figure / 2})
	}
	return c
}

func mustDraw(t interface{ Fatal(...any) }, c Chart) string {
	html, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestAChartIsDrawnAsPinned(t *testing.T) {
	const file = "testdata/hours.html"
	got := mustDraw(t, chartOf(Hour, 0, 3, 1, 1200, 40, 7, 9))
	if *update {
		expect.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	expect.OK(t, err)
	expect.Equal(t, got, string(want), "want\n%s", want)
}

func genChart(t *rapid.T) Chart {
	most := rapid.SampledFrom([]uint64{0, 1, 3, 10, 999, 1e6, MaxFigure}).Draw(t, "most")
	c := chartOf(rapid.SampledFrom([]Interval{Hour, Day}).Draw(t, "interval"),
		rapid.SliceOfN(rapid.Uint64Range(0, most), 1, 500).Draw(t, "figures")...)
	shift := time.Duration(rapid.IntRange(0, 5000).Draw(t, "shift")) * c.Interval.duration()
	for i := range c.Buckets {
		c.Buckets[i].From = c.Buckets[i].From.Add(-shift)
	}
	c.Height = rapid.SampledFrom([]int{0, 1, 120, 400}).Draw(t, "height")
	return c
}

// A bar is what a path fills in one bucket.
type bar struct{ left, right, top float64 }

var (
	pathOf  = regexp.MustCompile(`<path class="([a-z ]+)" d="([^"]*)"/>`)
	command = regexp.MustCompile(`([MvVhz])([-0-9. ]*)`)
)

// barsOf reads the bars of the paths of a class, each by its top edge.
func barsOf(t *rapid.T, html, class string) (found []bar) {
	for _, path := range pathOf.FindAllStringSubmatch(html, -1) {
		if path[1] != class && path[1] != class+" open" {
			continue
		}
		x, y := 0.0, 0.0
		for _, step := range command.FindAllStringSubmatch(path[2], -1) {
			n := numbers(t, step[2])
			switch step[1] {
			case "M":
				x, y = n[0], n[1]
			case "V":
				y = n[0]
			case "v":
				y += n[0]
			case "h":
				found = append(found, bar{x, x + n[0], y})
				x += n[0]
			}
		}
	}
	return found
}

func numbers(t *rapid.T, text string) (found []float64) {
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseFloat(field, 64)
		expect.OK(t, err)
		found = append(found, n)
	}
	return found
}

func TestBarsAreProportionalAndInsideTheDrawing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genChart(t)
		html := mustDraw(t, c)
		checkBars(t, c, barsOf(t, html, "bar hits"), func(b Bucket) uint64 { return b.Hits })
		checkBars(t, c, barsOf(t, html, "bar visitors"), func(b Bucket) uint64 { return b.Unique })
	})
}

func checkBars(t *rapid.T, c Chart, drawn []bar, figure func(Bucket) uint64) {
	top := float64(axisFor(c.most()).top())
	for i, bucket := range c.Buckets {
		middle, height := float64(i)+0.5, 0.0
		for _, b := range drawn {
			expect.MustThat(t, b.left >= 0 && b.right <= float64(len(c.Buckets)) && b.top >= 0 && b.top <= unitHeight, "a bar is outside: %v", b)
			if b.left <= middle && middle <= b.right {
				height = unitHeight - b.top
			}
		}
		want := unitHeight * float64(figure(bucket)) / top
		if figure(bucket) > 0 {
			want = max(want, leastBar)
		}
		if diff := height - want; diff > 0.51 || diff < -0.51 {
			t.Fatalf("bucket %d with %d: got height %v, want %v", i, figure(bucket), height, want)
		}
	}
}

func TestTicksAreRoundAndCoverTheMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64Range(1, MaxFigure).Draw(t, "limit")
		a := axisFor(limit)
		expect.MustThat(t, a.ticks >= 2 && a.ticks <= 4 && a.top() >= limit && (limit <= 2 || a.top()-a.step < limit), "got %+v", a)
		digits := strings.TrimRight(strconv.FormatUint(a.step, 10), "0")
		expect.MustThat(t, digits == "1" || digits == "2" || digits == "5", "got step %d", a.step)
	})
}

func TestLabelsNeverTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genChart(t)
		for _, width := range []float64{narrowPixels, widePixels} {
			labels := c.xLabels(width)
			expect.MustThat(t, len(labels) != 0, "no labels at %v px", width)
			expect.MustThat(t, roomy(labels, width), "labels touch at %v px: %v", width, labels)
			for _, l := range labels {
				from, to := l.extent(width)
				expect.MustThat(t, from >= -roomLeft && to <= width+roomRight, "%+v reaches from %v to %v of %v", l, from, to, width)
			}
		}
	})
}

func TestUsualWindowsHaveEnoughLabels(t *testing.T) {
	for _, w := range []struct {
		name     string
		interval Interval
		buckets  int
	}{
		{"24 hours", Hour, 24}, {"48 hours", Hour, 48}, {"30 days", Day, 30}, {"60 days", Day, 60}, {"400 days", Day, 400},
	} {
		c := chartOf(w.interval, make([]uint64, w.buckets)...)
		narrow, wide := len(c.xLabels(narrowPixels)), len(c.xLabels(widePixels))
		expect.That(t, narrow >= 3 && wide >= 4 && wide <= 14, "%s: got %d labels in a narrow and %d in a wide drawing", w.name, narrow, wide)
	}
}

func TestTheTableHasEveryValue(t *testing.T) {
	rows := regexp.MustCompile(`<tr><th scope=row>([^<]+)<td>([0-9,]+)<td>([0-9,]+)`)
	rapid.Check(t, func(t *rapid.T) {
		c := genChart(t)
		found := rows.FindAllStringSubmatch(mustDraw(t, c), -1)
		expect.MustEqual(t, len(found), len(c.Buckets), "rows")
		for i, row := range found {
			hits, visitors := strings.ReplaceAll(row[2], ",", ""), strings.ReplaceAll(row[3], ",", "")
			b := c.Buckets[i]
			expect.MustThat(t, strings.HasPrefix(row[1], c.name(i)) && hits == strconv.FormatUint(b.Hits, 10) &&
				visitors == strconv.FormatUint(b.Unique, 10), "got %q, want %v", row, b)
		}
	})
}

func TestABucketThatHasNotEndedIsDrawnApart(t *testing.T) {
	c := chartOf(Day, 5, 6, 7)
	html := mustDraw(t, c)
	expect.That(t, strings.Count(html, "2026-03-01 (so far)") == 1 && strings.Count(html, `hits open" d="M2.`) == 1 &&
		!strings.Contains(html, "visitors open") && strings.Contains(html, " data-open"), "got %s", html)
	c.Now = noon.Add(12 * time.Hour) // the day has ended
	html = mustDraw(t, c)
	expect.That(t, !strings.Contains(html, "open") && !strings.Contains(html, "so far"), "got %s", html)
}

func TestAChartWithoutHitsSaysSo(t *testing.T) {
	html := mustDraw(t, chartOf(Day, 0, 0, 0))
	expect.That(t, !strings.Contains(html, "<path") && strings.Contains(html, `<text class="chart-empty"`) && !strings.Contains(html, "data-peak"),
		"got %s", html)
}

func TestOneBucketAndTheLargestFigureAreDrawn(t *testing.T) {
	html := mustDraw(t, chartOf(Hour, MaxFigure))
	for _, want := range []string{"<td>9,007,199,254,740,992<td>", ">10,000T</text>", `data-bucket="0"`} {
		expect.That(t, strings.Contains(html, want), "lacks %s:\n%s", want, html)
	}
}

func TestChartsThatCannotBeDrawnAreErrors(t *testing.T) {
	gap, odd, huge := chartOf(Day, 1, 2, 3), chartOf(Hour, 1), chartOf(Hour, 1)
	gap.Buckets = append(gap.Buckets[:1], gap.Buckets[2:]...)
	odd.Buckets[0].From = noon.Add(time.Second)
	huge.Buckets[0].Hits = MaxFigure + 1
	for name, c := range map[string]struct {
		chart Chart
		want  error
	}{
		"no buckets":          {Chart{}, ErrNoBuckets},
		"400 days of hours":   {chartOf(Hour, make([]uint64, 9600)...), ErrTooMany},
		"a day is missing":    {gap, ErrUneven},
		"not on the hour":     {odd, ErrUneven},
		"a figure over 2^53":  {huge, ErrTooLarge},
		"hours drawn as days": {Chart{Interval: Day, Buckets: chartOf(Hour, 1, 2).Buckets}, ErrUneven},
	} {
		html, err := c.chart.HTML()
		expect.That(t, errors.Is(err, c.want) && html == "", "%s: got %v and %d bytes, want %v", name, err, len(html), c.want)
	}
}

func TestA400DayChartIsSmallCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	figures := make([]uint64, 400)
	for i := range figures {
		figures[i] = 50_000 + r.Uint64N(100_000)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(mustDraw(t, chartOf(Day, figures...))))
	_ = z.Close()
	expect.That(t, b.Len() <= 9<<10, "it takes %d bytes", b.Len())
}

func TestZonesDoNotChangeAChart(t *testing.T) {
	c := chartOf(Hour, 1, 2, 3)
	want := mustDraw(t, c)
	for i := range c.Buckets {
		c.Buckets[i].From = c.Buckets[i].From.In(time.FixedZone("", 19800))
	}
	expect.Equal(t, mustDraw(t, c), want)
}

func TestEveryClassHasARule(t *testing.T) {
	for _, class := range []string{".hits", ".visitors", ".open", ".chart-box", ".dense", ".sparse", ".band", ".chart-empty"} {
		expect.That(t, strings.Contains(Style, class), "there is no rule for %s", class)
	}
}

func FuzzTextsAreEscaped(f *testing.F) {
	f.Add(`</table><script>alert(1)</script>`)
	f.Add(`" onload="x`)
	f.Add("'><img src=x>\x00\xff\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		c := chartOf(Day, 1, 2)
		count := func(html string) [3]int {
			return [3]int{strings.Count(html, "<"), strings.Count(html, ">"), strings.Count(html, `"`)}
		}
		c.ID, c.Caption = "x", "x"
		want := count(mustDraw(t, c))
		c.ID, c.Caption = text, text
		expect.Equal(t, count(mustDraw(t, c)), want, `of < > "`)
		rows := func(label string) [3]int {
			row := Row{Label: label, Value: 1, Flag: "x" + label, Note: "x" + label, Path: "x" + label}
			return count(strings.NewReplacer("<wbr>", "", ` translate="no"`, "").Replace(string(Bars([]Row{row}, 2)))) // of hosts
		}
		got, want := rows(text), rows("x")
		expect.Equal(t, got, want, `bars of < > "`)
		expect.That(t, !strings.ContainsRune(string(Bars([]Row{{Label: text, Value: 1, Rest: true}}, 2)), 0), "a zero byte is left")
	})
}

func TestDaysLeadToTheirFigures(t *testing.T) {
	c := chartOf(Day, 3, 4)
	c.Day = func(date string) string { return "/x?from=" + date + "&to=" + date }
	expect.Contains(t, mustDraw(t, c), `<tr><th scope=row><a href="/x?from=2026-02-28&amp;to=2026-02-28">2026-02-28</a><td>3<td>1`)
	hours := chartOf(Hour, 3, 4)
	hours.Day = c.Day
	long := chartOf(Day, make([]uint64, maxLinked+1)...)
	long.Day = c.Day
	expect.That(t, !strings.Contains(mustDraw(t, long), "href"), "a long chart has its addresses")
	expect.That(t, !strings.Contains(mustDraw(t, hours), "href"), "an hour has no figures of its own")
}

func TestAChartOfHitsAloneHasNoVisitors(t *testing.T) {
	c := chartOf(Day, 30, 40)
	c.Caption, c.HitsOnly = "Hits", true
	for i := range c.Buckets {
		c.Buckets[i].Unique = 0
	}
	got := mustDraw(t, c)
	expect.That(t, !strings.Contains(strings.ToLower(got), "visitor"), "%s", got)
	for _, want := range []string{"<th scope=col>Hits<tbody>", "<tr><th scope=row>2026-02-28<td>30\n", "2026-03-01: 40 hits (most hits)"} {
		expect.Contains(t, got, want)
	}
}
