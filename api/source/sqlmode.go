package source

import (
	"errors"
	"regexp"
	"strings"
)

// maxSetBytes bounds what is looked at of a statement that sets something.
const maxSetBytes = 4 << 10

// sqlMode is what sets the mode of SQL, to a text or to what a variable has.
var sqlMode = regexp.MustCompile(`(?i)\bsql_mode\s*:?\s*=\s*(@[a-z_])?`)

// setMode follows a text that may set the mode of SQL. Dumps set it at the beginning, and in between to another one and
// back, by a variable.
func (d *dump) setMode(text string) {
	for _, at := range sqlMode.FindAllStringSubmatchIndex(text, -1) {
		if at[2] >= 0 { // back
			d.plain = d.before
			continue
		}
		d.before, d.plain = d.plain, strings.Contains(strings.ToUpper(text[at[1]:]), "NO_BACKSLASH_ESCAPES")
	}
}

// set reads SET, of which only the mode of SQL matters.
func (d *dump) set() error {
	var text strings.Builder
	for {
		w, err := d.word()
		if err != nil && !errors.Is(err, errLongWord) || w.kind == ';' {
			d.setMode(text.String())
			return err
		}
		if text.Len() < maxSetBytes {
			text.WriteString(" " + w.shown())
		}
	}
}

// shown returns a word as text, a sign as it is.
func (w word) shown() string {
	if w.text == "" {
		return string(w.kind)
	}
	return w.text
}

// use reads USE, which names the database of what follows.
func (d *dump) use() error {
	w, err := d.word()
	if err != nil || w.kind == ';' {
		return err
	}
	d.base = w.text
	return d.passStatement()
}
