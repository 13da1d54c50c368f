package settings

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// A row is a setting as `shunt config` shows it.
type row struct {
	name, text string
	value      any // as in JSON: a text, true or false, or a list of texts; nil: not set, or not shown
	source     string
	secret     bool
}

// A Table is what `shunt config` shows: a row for each setting.
type Table []row

const (
	fromDefault = "default"
	fromFlag    = "flag"
	hiddenValue = "(set, not shown)"
)

// Rows returns the settings among fs. A setting that is not given may follow from another one:
// derived returns its text and the name of the other, or "".
func Rows(fs *pflag.FlagSet, derived func(name string) (text, from string)) (rows Table) {
	fs.VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f) {
			return
		}
		r := row{name: f.Name, text: f.Value.String(), source: sourceOf(f), secret: annotated(f, secretAnnotation)}
		if r.text == "" {
			if text, from := derived(f.Name); text != "" {
				r.text, r.source = text, r.source+", from "+from
			}
		}
		r.value = valueOf(f, r.text)
		if r.secret && r.text != "" {
			r.text, r.value = hiddenValue, nil
		}
		rows = append(rows, r)
	})
	return rows
}

// Texts returns the text of each setting among fs.
func Texts(fs *pflag.FlagSet) map[string]string {
	texts := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) {
		if IsSetting(f) {
			texts[f.Name] = f.Value.String()
		}
	})
	return texts
}

func sourceOf(f *pflag.Flag) string {
	switch source := f.Annotations[sourceAnnotation]; {
	case len(source) > 0:
		return source[0]
	case f.Changed:
		return fromFlag
	}
	return fromDefault
}

func valueOf(f *pflag.Flag, text string) any {
	list, isList := f.Value.(pflag.SliceValue)
	switch {
	case isList:
		return append([]string{}, list.GetSlice()...)
	case f.Value.Type() == "bool":
		return text == "true"
	case text == "":
		return nil
	}
	return text
}

// ByName returns the value and the source of each setting, as JSON shows them.
func (t Table) ByName() map[string]any {
	type shown struct {
		Value  any    `json:"value"`
		Source string `json:"source"`
		Secret bool   `json:"secret,omitempty"`
	}
	rows := map[string]any{}
	for _, row := range t {
		rows[row.name] = shown{row.value, row.source, row.secret}
	}
	return rows
}

// Cells returns the table for people, its head first.
func (t Table) Cells() [][]string {
	rows := [][]string{{"SETTING", "VALUE", "FROM"}}
	for _, row := range t {
		text := row.text
		if list, ok := row.value.([]string); ok {
			text = strings.Join(list, ",")
		}
		rows = append(rows, []string{row.name, cmp.Or(text, "-"), row.source})
	}
	return rows
}

// TOML returns a file of settings. Defaults are comments, so that a later default takes effect.
func (t Table) TOML() string {
	var b strings.Builder
	for _, row := range t {
		if row.secret || row.value == nil || row.name == "config" { // a file names no other
			continue
		}
		if strings.HasPrefix(row.source, fromDefault) {
			b.WriteString("# ")
		}
		fmt.Fprintf(&b, "%s  # %s\n", tomlLine(row.name, row.value), row.source)
	}
	return b.String()
}

// tomlLine returns the line of a setting in a file.
func tomlLine(name string, value any) string {
	line, err := toml.Marshal(map[string]any{name: value})
	must(err) // texts, lists of them, and true or false
	return strings.TrimSpace(string(line))
}
