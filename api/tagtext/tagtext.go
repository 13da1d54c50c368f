// Package tagtext reads and writes several tags in one text, as people type them: on the pages and on the
// command line. It knows nothing of ours, and not what a tag may be.
package tagtext

import "strings"

// Join returns tags as a person types them: with commas between them. A tag that would not be
// read back so stands in quotation marks, and those in it are doubled.
func Join(tags []string) string {
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = tag
		if tag != strings.TrimSpace(tag) || strings.ContainsAny(tag, `,"`) {
			texts[i] = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
		}
	}
	return strings.Join(texts, ", ")
}

// Split reads tags that a person typed. Empty ones are left out, unless they are quoted.
func Split(text string) (tags []string) {
	for {
		text = strings.TrimSpace(text)
		tag, rest, quoted := cutQuoted(text)
		if !quoted {
			tag, rest, _ = strings.Cut(text, ",")
			tag = strings.TrimSpace(tag)
		}
		if quoted || tag != "" {
			tags = append(tags, tag)
		}
		if text = rest; text == "" {
			return tags
		}
	}
}

// cutQuoted cuts a tag in quotation marks, and the comma after it, off text. ok == false: text does
// not begin with such a tag.
func cutQuoted(text string) (tag, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case strings.HasPrefix(text[i+1:], `"`):
			i++
		default:
			rest = strings.TrimSpace(text[i+1:])
			after, comma := strings.CutPrefix(rest, ",")
			return strings.ReplaceAll(text[1:i], `""`, `"`), after, comma || rest == ""
		}
	}
	return "", "", false
}
