package words

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of a file of texts. Ours is below a tenth of them.
const (
	MaxFileBytes = 1 << 20
	maxTexts     = 10_000
)

// A Catalog has the texts of a language. Any number of goroutines may use it. The nil Catalog is English.
type Catalog struct {
	Language string // such as de, the attribute lang of its pages
	Name     string // of the language, in itself
	Thousand string // what stands between groups of three digits
	exact    map[string]string
	patterns []pattern // those with more text first
	every    func(key string) string
}

// Read reads the file of a language: a JSON object with the text of each key. Of the keys "language", "language name"
// and "thousands separator" the texts are about the language. Errors: what is wrong with the file, in words.
func Read(file []byte) (*Catalog, error) {
	if len(file) > MaxFileBytes {
		return nil, fmt.Errorf("has more than %d bytes", MaxFileBytes)
	}
	var texts map[string]string
	if err := json.Unmarshal(file, &texts); err != nil {
		return nil, fmt.Errorf("is not a JSON object of texts: %w", err)
	}
	if len(texts) > maxTexts {
		return nil, fmt.Errorf("has more than %d texts", maxTexts)
	}
	c := &Catalog{Language: texts["language"], Name: texts["language name"], Thousand: texts["thousands separator"], exact: make(map[string]string)}
	if !languageTag.MatchString(c.Language) || c.Name == "" {
		return nil, fmt.Errorf(`must say which language it is, such as "language": "de" and "language name": "Deutsch"`)
	}
	for key, text := range texts {
		has := holesOf(key)
		for n := range holesOf(text) {
			if has[n] == 0 {
				return nil, fmt.Errorf("has a hole {%s} in %q that %q does not have", n, text, key)
			}
		}
		if len(has) > 0 && strings.Trim(hole.ReplaceAllString(key, ""), " .,:;") == "" {
			return nil, fmt.Errorf("has the key %q, which fits any text", key)
		}
		if strings.ContainsAny(text, "<>") {
			return nil, fmt.Errorf("has a tag in %q", text)
		}
		c.exact[key] = text
		if len(has) > 0 {
			c.patterns = append(c.patterns, patternOf(key, text))
		}
	}
	slices.SortFunc(c.patterns, func(a, b pattern) int {
		return cmp.Or(len(b.expression.String())-len(a.expression.String()), strings.Compare(a.expression.String(), b.expression.String()))
	})
	return c, nil
}

// ReadFile reads the file of a language; see Read. Errors name the file.
func ReadFile(name string) (*Catalog, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	c, err := Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return c, nil
}

// languageTag is what a language may be called (BCP 47), as far as pages need it.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// Every returns the catalog of no language in which f is the text of each key, for tests that look for texts which are
// not translated.
func Every(f func(key string) string) *Catalog {
	return &Catalog{Language: "x-every", Name: "Every", every: f}
}

// Has reports whether the catalog has a text of the key.
func (c *Catalog) Has(key string) bool { return c.exact[key] != "" }

// of returns the text of a key; the key itself if there is none.
func (c *Catalog) of(key string) string {
	switch {
	case c == nil:
		return key
	case c.every != nil:
		return c.every(key)
	}
	return cmp.Or(c.exact[key], key)
}

// Text returns the text of a key with values in its holes.
func (c *Catalog) Text(key string, values ...string) string {
	return hole.ReplaceAllStringFunc(c.of(key), func(h string) string {
		n, _ := strconv.Atoi(hole.FindStringSubmatch(h)[1])
		if n >= len(values) {
			return h
		}
		return values[n]
	})
}

// Bounds of what Say looks at: texts may have in them what strangers wrote.
const (
	maxSaid  = 1000 // bytes of a text
	maxDepth = 3    // texts within texts
)

// Say returns a finished text in the language of c; as it is if c does not have it.
func (c *Catalog) Say(text string) string { return c.say(text, 0) }

func (c *Catalog) say(text string, depth int) string {
	switch {
	case c == nil || text == "":
		return text
	case c.every != nil:
		return c.every(text)
	}
	if said, found := c.exact[text]; found {
		return said
	}
	if len(text) > maxSaid || depth >= maxDepth {
		return text
	}
	for _, p := range c.patterns {
		if !strings.HasPrefix(text, p.begin) || !strings.HasSuffix(text, p.end) {
			continue
		}
		if values := p.expression.FindStringSubmatch(text); values != nil {
			return c.fill(p.translation, values[1:], depth+1)
		}
	}
	return c.sayParts(text, depth+1)
}

// sayParts says the parts of a text that is joined, such as "The state: must be …" or a sentence that is known without
// its full stop.
func (c *Catalog) sayParts(text string, depth int) string {
	if begin, found := strings.CutSuffix(text, "."); found {
		if said := c.say(begin, depth); said != begin {
			return said + "."
		}
	}
	if label, rest, found := strings.Cut(text, ": "); found {
		return c.say(label, depth) + ": " + c.say(rest, depth)
	}
	return text
}

// fill puts values into the holes of a translation.
func (c *Catalog) fill(translation string, values []string, depth int) string {
	return hole.ReplaceAllStringFunc(translation, func(h string) string {
		m := hole.FindStringSubmatch(h)
		n, _ := strconv.Atoi(m[1])
		if n >= len(values) {
			return h
		}
		if m[2] == "!" {
			return c.say(values[n], depth)
		}
		return c.Number(values[n])
	})
}

var grouped = regexp.MustCompile(`^\d{1,3}(,\d{3})+$`)

// Number returns a number that has commas between groups of digits as c writes it; any other text as it is.
func (c *Catalog) Number(text string) string {
	if c == nil || c.Thousand == "" || !grouped.MatchString(text) {
		return text
	}
	return strings.ReplaceAll(text, ",", c.Thousand)
}
