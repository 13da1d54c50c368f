package card

import (
	"html"
	"strings"

	"shunt/engine"
)

// Page returns the HTML of a card, for the link at an address (RFC 3986). Programs that show previews read the
// properties of the Open Graph protocol (ogp.me), or else the title and the description; X reads how large the image
// is to be. The body is for people who get the page by mistake.
func Page(c *engine.Card, address string) []byte {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"\" prefix=\"og: https://ogp.me/ns#\">\n<meta charset=\"utf-8\">\n")
	add := func(before, text, after string) {
		if text != "" {
			b.WriteString(before + html.EscapeString(text) + after + "\n")
		}
	}
	image, size := string(engine.AppendASCII(nil, []byte(c.Image))), "summary"
	if image != "" {
		size = "summary_large_image"
	}
	add("<title>", c.Title, "</title>")
	add(`<meta name="description" content="`, c.Description, `">`)
	add(`<meta property="og:type" content="`, "website", `">`)
	add(`<meta property="og:url" content="`, address, `">`)
	add(`<meta property="og:title" content="`, c.Title, `">`)
	add(`<meta property="og:description" content="`, c.Description, `">`)
	add(`<meta property="og:image" content="`, image, `">`)
	add(`<meta name="twitter:card" content="`, size, `">`)
	add("<h1>", c.Title, "</h1>")
	add("<p>", c.Description, "</p>")
	b.WriteString("</html>\n")
	return []byte(b.String())
}
