package page

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// textOn is every colour of text with the backgrounds on which pages show it, and edgesOn that of
// edges and bars which tell something.
var (
	textOn = map[string][]string{
		"text":    {"page", "box", "good-box", "warn-box", "bad-box", "link-box"},
		"quiet":   {"page", "box", "link-box", "warn-box", "good-box", "bad-box"},
		"link":    {"page", "box", "link-box", "warn-box", "good-box", "bad-box"},
		"good":    {"page", "box", "good-box"},
		"warn":    {"page", "box", "warn-box"},
		"bad":     {"page", "box", "bad-box"},
		"on-link": {"link"},
		"on-mark": {"mark-a", "mark-b", "mark-c", "mark-d", "mark-e", "mark-f", "mark-g", "mark-h"},
		"get":     {"page"},
		"post":    {"page"},
		"patch":   {"page"},
		"delete":  {"page"},
	}
	edgesOn = map[string][]string{"edge": {"page"}, "link": {"page", "line"}, "bad": {"page"}, "good": {"page"}}
)

var styles = []string{"base.css", "page.css", "../docs/docs.css", "../dashboard/style.css", "../chart/chart.css"}

func TestEveryTextHasContrastInLightAndDark(t *testing.T) {
	light, dark := tokens(t, 0), tokens(t, 1)
	for scheme, colours := range map[string]map[string]float64{"light": light, "dark": dark} {
		for least, pairs := range map[float64]map[string][]string{4.5: textOn, 3: edgesOn} {
			for front, backs := range pairs {
				for _, back := range backs {
					a, known := colours[front]
					b, knownToo := colours[back]
					got := (max(a, b) + .05) / (min(a, b) + .05)
					expect.That(t, known && knownToo && got >= least, "%s: --%s on --%s: got %.2f, want at least %v", scheme, front, back, got, least)
				}
			}
		}
	}
}

func TestTextHasNoColourBesideTheTokens(t *testing.T) {
	for _, path := range styles {
		text, err := os.ReadFile(path)
		expect.OK(t, err)
		expect.Equal(t, regexp.MustCompile(`[ ;{](color|-webkit-text-fill-color): *(#|rgb|hsl)[^;}]*`).FindString(string(text)), "", path)
		for _, token := range regexp.MustCompile(`[ {;(]color: *var\(--([a-z-]+)\)`).FindAllStringSubmatch(string(text), -1) {
			expect.That(t, textOn[token[1]] != nil, "%s: the contrast of --%s is not checked", path, token[1])
		}
	}
}

var token = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{3,6})\b`)

// tokens returns the relative luminance (WCAG 2.2) of every colour of the nth :root of each style.
func tokens(t *testing.T, nth int) map[string]float64 {
	all := ""
	for _, path := range styles {
		text, err := os.ReadFile(path)
		expect.OK(t, err)
		if blocks := strings.Split(string(text), ":root {"); len(blocks) == 3 {
			block, _, _ := strings.Cut(blocks[nth+1], "}")
			all += block + ";"
		} else if len(blocks) != 1 {
			t.Fatalf("%s has %d blocks of tokens, want light and dark", path, len(blocks)-1)
		}
	}
	found := make(map[string]float64)
	for _, m := range token.FindAllStringSubmatch(all, -1) {
		hex := m[2]
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		n, err := strconv.ParseUint(hex, 16, 32)
		expect.OK(t, err)
		found[m[1]] = .2126*linear(n>>16) + .7152*linear(n>>8&255) + .0722*linear(n&255)
	}
	return found
}

// linear returns the light of a channel of sRGB.
func linear(channel uint64) float64 {
	c := float64(channel) / 255
	if c <= .04045 {
		return c / 12.92
	}
	return math.Pow((c+.055)/1.055, 2.4)
}
