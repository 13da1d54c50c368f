package visit

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shunt/api/chart"
	"shunt/api/dashboard/icon"
	"shunt/api/words"
)

// functions are what all templates of a language can call. say returns a text that code has made in that language.
func functions(c *words.Catalog) template.FuncMap {
	grouped := func(n uint64) string { return c.Number(chart.Grouped(n)) }
	return template.FuncMap{
		"say":         func(text any) any { return said(c, text) },
		"said":        func(texts []string) string { return saidAll(c, texts) },
		"icon":        icon.HTML,
		"number":      grouped,
		"sum":         func(a, b uint64) string { return grouped(a + b) },
		"uncertainty": uncertainty,
		"time":        func(t time.Time) template.HTML { return c.Fragment(TimeTag(t)) },
		"date":        dateText,
		"ago":         func(t time.Time) template.HTML { return c.Fragment(agoTag(t)) },
		"day":         dayTag,
		"segment":     url.PathEscape, // of a path: a code may have slashes
		"join":        func(texts []string) string { return strings.Join(texts, ", ") },
		"plural":      func(n uint64, one, many string) string { return plural(c, n, one, many) },
		"breakable":   breakable,
		"wrapped":     wrapped,
		"web":         isWeb,
		"characters": func(text string) string {
			return grouped(uint64(utf8.RuneCountInString(text))) + " " + c.Say("characters")
		},
	}
}

// A Name is a text that somebody typed: it is the same in each language, also if it is like a text of ours.
type Name string

// said returns a text, or HTML of ours, in the language of c.
func said(c *words.Catalog, text any) any {
	switch t := text.(type) {
	case nil: // a map does not have it
		return ""
	case Name:
		return string(t)
	case template.HTML:
		return c.Fragment(t)
	case string:
		return c.Say(t)
	}
	return c.Say(fmt.Sprint(text))
}

// plural returns a number with its noun; or, if many has a hole, the sentence of that number.
func plural(c *words.Catalog, n uint64, one, many string) string {
	text := many
	if n == 1 {
		text = one
	}
	number := c.Number(chart.Grouped(n))
	if !strings.Contains(many, "{0}") {
		return number + " " + c.Say(text)
	}
	return c.Text(text, number)
}

func saidAll(c *words.Catalog, texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = c.Say(text)
	}
	return strings.Join(all, ", ")
}

// isWeb reports whether a target is a web address, to which a page can link.
func isWeb(target string) bool {
	scheme, _, _ := strings.Cut(target, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// A Delta is the difference between two figures in words.
type Delta struct{ Class, Text string }

// Compare returns how many more or fewer hits there are now than then; before says when that was.
func Compare(now, then uint64, before string) Delta {
	switch {
	case now == 0 && then == 0:
		return Delta{"", "none " + before + " either"}
	case now == then:
		return Delta{"", "as many as " + before}
	case then == 0:
		return Delta{"up", "▲ up from none " + before}
	case now >= 2*then:
		return Delta{"up", "▲ " + strconv.FormatFloat(float64(now)/float64(then), 'f', 1, 64) + " times as many as " + before}
	case now > then:
		return Delta{"up", "▲ " + chart.Share(now-then, then) + " more than " + before}
	}
	return Delta{"down", "▼ " + chart.Share(then-now, then) + " fewer than " + before}
}

// uncertainty says how exact a number of visitors is; relative is its standard error.
func uncertainty(relative *float64) string {
	if relative == nil || *relative == 0 {
		return "counted exactly"
	}
	return "estimated, ±" + strconv.FormatFloat(100**relative, 'f', 1, 64) + " %"
}

// dateText returns text if it is a date, "" otherwise: browsers complain of a field of a date that
// has something else.
func dateText(text string) string {
	if _, ok := ParseDate(text); !ok {
		return ""
	}
	return text
}

// ParseDate reads a date such as a field of a date sends it: the years are 1 to 9999.
func ParseDate(text string) (day time.Time, ok bool) {
	day, err := time.Parse(time.DateOnly, text)
	return day, err == nil && day.Year() > 0
}

// TimeTag returns a time in UTC to the minute, which the script shows in the visitor's zone. The
// zero time is "never".
func TimeTag(t time.Time) template.HTML { return markTime(t, "") }

// dayTag returns the day of a time somewhere.
func dayTag(t time.Time, in *time.Location) template.HTML {
	text := t.In(in).Format(time.DateOnly)
	return template.HTML(`<time datetime="` + text + `">` + text + `</time>`)
}

// agoTag is TimeTag for the past: the script shows how long ago it was.
func agoTag(t time.Time) template.HTML { return markTime(t, " data-relative") }

func markTime(t time.Time, attribute string) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `"` + attribute + `>` + t.Format("2006-01-02 15:04") + ` UTC</time>`)
}

// breakable returns a short address that breaks before its code where it does not fit in a line.
func breakable(shortURL string) template.HTML {
	code := strings.LastIndexByte(shortURL, '/') + 1
	return template.HTML(template.HTMLEscapeString(shortURL[:code]) + "<wbr>" + template.HTMLEscapeString(shortURL[code:]))
}

// breaks are where a long address may break.
var breaks = strings.NewReplacer("/", "/<wbr>", "?", "?<wbr>", "=", "=<wbr>", "&amp;", "&amp;<wbr>", ".", "<wbr>.")

// wrapped returns an address that breaks between its parts rather than in a word.
func wrapped(address string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(address)))
}

// Plural returns a number with its noun: one if n is 1, many otherwise.
func Plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return chart.Grouped(n) + " " + many
}
