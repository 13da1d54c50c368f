package docs

import (
	"html"
	"strings"

	"shunt/api/page"
	"shunt/api/visitor"
)

// hits writes the section on what counts as a hit, from the tables that decide it.
func (p *referencePage) hits() {
	p.add("<h2 id=\"hits\">What counts as a hit</h2>\n%s", prose("A redirect counts as a hit, unless the request is a `HEAD` or comes from a known bot. "+
		"Such requests get the same redirect and are counted separately: see `include=bots`."))
	p.add("%s", prose("A prefetch is counted separately, too, but gets no redirect. A request is one if `Sec-Purpose`, `Purpose`, `X-Purpose` or "+
		"`X-Moz` names prefetch, prerender or preview. Where a redirect would follow, its answer is `503` with `Cache-Control: no-store` and an "+
		"empty body. A browser that has followed a redirect ahead does not ask again when somebody clicks, so the click would not count, and a "+
		"link for one visitor would let several through. After the `503`, the browser asks again, and that is the hit. The `503` is no failure "+
		"of the server: metrics count it as `shunt_hits_total{class=\"prefetch\"}` only."))
	p.add("%s", prose("A bot is known by its User-Agent: the first 512 bytes contain one of the words below, in upper or lower case, or the "+
		"library mileusna/useragent calls it a bot, because its name contains `bot` or because it gives the address of a web page, as most "+
		"crawlers do. The words of the first group do not count in the name of an Android device. Everybody else is a visitor, also without a "+
		"User-Agent. (␣ is a space.)"))
	for _, group := range visitor.KnownBots {
		p.add("<h3 class=\"group\">%s</h3>\n<p>%s</p>", group.Name, wordList(group.Words))
	}
	p.add("<h3 class=\"group\">%s</h3>\n<p>%s</p>", "Always visitors: User-Agents that begin with one of these", wordList(visitor.CommandLineTools))
}

// wordList writes words as code, and marks those that match only at the beginning.
func wordList(words []string) page.Markup {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		text, first := strings.CutPrefix(word, "^")
		b.WriteString("<code>" + html.EscapeString(showSpaces(text)) + "</code>")
		if first {
			b.WriteString(" (at the beginning)")
		}
	}
	return page.Markup(b.String())
}

// showSpaces replaces the spaces at the ends of a word, which browsers do not show.
func showSpaces(word string) string {
	trimmed := strings.Trim(word, " ")
	at := strings.Index(word, trimmed)
	return strings.Repeat("␣", at) + trimmed + strings.Repeat("␣", len(word)-at-len(trimmed))
}
