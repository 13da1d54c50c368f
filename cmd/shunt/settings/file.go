package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/pflag"
)

// maxFileBytes stops a wrong path from being read whole.
const maxFileBytes = 1 << 20

// A given is the value of a setting in the environment or the file.
type given struct {
	text   string
	source string // SHUNT_LISTEN, or FILE:LINE:COLUMN
	key    string // ": listen", as the file has it
}

// A configFile is a file of settings that is being read.
type configFile struct {
	path  string
	text  []byte
	known map[string]*pflag.Flag
	errs  []error
}

// readFile returns the values of the TOML file by setting. Its keys are the flags' names; base_url
// is base-url.
func readFile(path string, known map[string]*pflag.Flag) (map[string]given, error) {
	text, err := ReadAtMost(path, maxFileBytes)
	if err != nil {
		return nil, UsageErrorf("--config: %w", err)
	}
	f := &configFile{path: path, text: bytes.TrimPrefix(text, []byte("\ufeff")), known: known}
	return f.settings()
}

// settings returns the values of f by setting, or all that is wrong with it.
func (f *configFile) settings() (map[string]given, error) {
	keys := f.readKeys()
	if len(f.errs) > 0 {
		return nil, errors.Join(f.errs...)
	}
	values := map[string]any{}
	if err := toml.Unmarshal(f.text, &values); err != nil {
		return nil, f.impossible(err)
	}
	settings := map[string]given{}
	for _, key := range keys {
		name := settingOfKey(key.text)
		value, err := fileText(f.known[name], values[key.text])
		if err != nil {
			f.refuse(key.line, key.column, "%s: %w", key.text, err)
			continue
		}
		if list, ok := values[key.text].([]any); ok && len(list) == 0 {
			continue // as every list is by default
		}
		settings[name] = given{value, f.place(key.line, key.column), ": " + key.text}
	}
	return settings, errors.Join(f.errs...)
}

func settingOfKey(key string) string { return strings.ReplaceAll(key, "_", "-") }

func (f *configFile) place(line, column int) string {
	return fmt.Sprintf("%s:%d:%d", f.path, line, column)
}

func (f *configFile) refuse(line, column int, format string, args ...any) {
	f.errs = append(f.errs, UsageErrorf("%s: %w", f.place(line, column), fmt.Errorf(format, args...)))
}

// A fileKey is a key as the file has it.
type fileKey struct {
	text         string
	line, column int
}

// readKeys returns the keys of the file that are settings, and refuses the others. The parser is
// the one below toml.Unmarshal, which keeps no places.
func (f *configFile) readKeys() (keys []fileKey) {
	lines := map[string]int{} // of settings
	names := slices.DeleteFunc(slices.Collect(maps.Keys(f.known)), func(name string) bool { return name == "config" })
	var p unstable.Parser
	p.Reset(f.text)
	for p.NextExpression() {
		e := p.Expression()
		key := keyOf(&p, e)
		name := settingOfKey(key.text)
		switch {
		case e.Kind != unstable.KeyValue:
			f.refuse(key.line, key.column, "[%s] begins a table, and tables are not used here: "+
				"write each setting at the top, on a line of its own", key.text)
			return keys // what follows is in the table
		case name == "config":
			f.refuse(key.line, key.column, "\"config\" is a flag and a variable: a file cannot name another file")
		case f.known[name] == nil:
			f.refuse(key.line, key.column, "there is no setting %q%s", key.text, DidYouMean(key.text, names, quoted))
		case lines[name] > 0:
			f.refuse(key.line, key.column, "%s is given twice: line %d has it already", key.text, lines[name])
		default:
			keys = append(keys, key)
			lines[name] = key.line
		}
	}
	var broken *unstable.ParserError
	if errors.As(p.Error(), &broken) {
		at := p.Shape(p.Range(broken.Highlight)).Start
		f.refuse(at.Line, at.Column, "%s", f.explain(at.Line, broken.Message))
	}
	return keys
}

func quoted(text string) string { return `"` + text + `"` }

// keyOf returns the key of an expression, the parts of a dotted one with dots between.
func keyOf(p *unstable.Parser, e *unstable.Node) (key fileKey) {
	var parts []string
	for parsed := e.Key(); parsed.Next(); {
		if len(parts) == 0 {
			at := p.Shape(parsed.Node().Raw).Start
			key.line, key.column = at.Line, at.Column
		}
		parts = append(parts, string(parsed.Node().Data))
	}
	key.text = strings.Join(parts, ".")
	return key
}

// impossible names the place of an impossible value, such as a 13th month.
func (f *configFile) impossible(err error) error {
	var broken *toml.DecodeError
	if !errors.As(err, &broken) {
		return UsageErrorf("%s: it is not TOML: %w", f.path, err)
	}
	line, column := broken.Position()
	text := strings.TrimPrefix(broken.Error(), "toml: ")
	if strings.Contains(text, "strconv.") {
		text = "the number is too large"
	}
	f.refuse(line, column, "this value is impossible: %s", text)
	return f.errs[0]
}

var (
	bareValue = regexp.MustCompile(`^\s*([\w-]+)\s*=\s*([^\s"'\[{#][^#]*?)\s*(?:#.*)?$`)
	noValue   = regexp.MustCompile(`^\s*([\w-]+)\s*=\s*(?:#.*)?$`)
	noEquals  = regexp.MustCompile(`^\s*([\w-]+)(?:\s*:\s*|\s+)[^=\s][^=]*$`)
)

// explain says what is wrong with a line that is not TOML: one of the usual mistakes, otherwise the
// message of the parser.
func (f *configFile) explain(line int, parserText string) string {
	lines := strings.Split(string(f.text), "\n")
	text := strings.TrimSuffix(lines[min(line, len(lines))-1], "\r")
	if found := bareValue.FindStringSubmatch(text); found != nil {
		name, value := found[1], found[2]
		if flag := f.known[settingOfKey(name)]; flag != nil && flag.Value.Type() == "bool" {
			return fmt.Sprintf("%s must be true or false", name)
		}
		return fmt.Sprintf(`the value of %s must be in quotes: %s = "%s"`, name, name, value)
	}
	if found := noValue.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf("%s has no value", found[1])
	}
	if found := noEquals.FindStringSubmatch(text); found != nil {
		return fmt.Sprintf(`write = between a setting and its value, such as %s = "…"`, found[1])
	}
	switch {
	case strings.Contains(parserText, "strings cannot have new lines"):
		return "the text is not closed: its last quote is missing"
	case strings.HasPrefix(parserText, "expected newline"):
		return "nothing may follow the value on its line"
	}
	return "this is not TOML: " + parserText
}

// fileText writes a value of the file as the flag would be given; an array is a list with commas.
func fileText(f *pflag.Flag, value any) (string, error) {
	kind := f.Value.Type()
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		if kind == "bool" {
			return fmt.Sprint(v), nil
		}
	case int64, float64:
		if kind == "bool" {
			return "", errors.New("must be true or false")
		}
		if kind != "string" {
			return fmt.Sprint(v), nil
		}
	case []any:
		return listText(f, v)
	}
	return "", errors.New("must be a text in quotes")
}

func listText(f *pflag.Flag, list []any) (string, error) {
	if _, ok := f.Value.(pflag.SliceValue); !ok {
		return "", errors.New("takes one value, not a list")
	}
	texts := make([]string, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			return "", errors.New(`must be a list of texts in quotes, such as ["a", "b"]`)
		}
		texts[i] = text
	}
	return strings.Join(texts, ","), nil
}
