package settings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// MarkArguments takes flags out of the environment and the file: they say what this one call is
// about.
func MarkArguments(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		must(fs.SetAnnotation(name, argumentAnnotation, []string{}))
	}
}

// MarkSecret lets a flag's value be read from a file that a variable names, and hides it where
// settings are shown.
func MarkSecret(fs *pflag.FlagSet, name string) {
	must(fs.SetAnnotation(name, secretAnnotation, []string{}))
}

// OnCommandLine reports whether the command line gave f, and neither the environment nor the file.
func OnCommandLine(f *pflag.Flag) bool { return f.Changed && !annotated(f, sourceAnnotation) }

// IsSetting reports whether f may also be set by the environment and the file.
func IsSetting(f *pflag.Flag) bool { return f.Name != "help" && !annotated(f, argumentAnnotation) }

// IsList reports whether f takes several words, separated by commas.
func IsList(f *pflag.Flag) bool { return annotated(f, listAnnotation) }

// Words returns the words that shells complete for f, nil if it may be anything.
func Words(f *pflag.Flag) []string { return f.Annotations[wordsAnnotation] }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func annotated(f *pflag.Flag, annotation string) bool {
	_, ok := f.Annotations[annotation]
	return ok
}

// A checked is a flag whose text is parsed when it is set, and refused if it is wrong.
type checked[T any] struct {
	value *T
	text  string
	kind  string // as --help names the value
	parse func(text string) (T, error)
}

func Var[T any](fs *pflag.FlagSet, p *T, name, kind, byDefault, usage string, parse func(string) (T, error)) {
	c := &checked[T]{value: p, kind: kind, parse: parse}
	if byDefault != "" {
		must(c.Set(byDefault))
	}
	fs.Var(c, name, usage)
}

func (c *checked[T]) Set(text string) error {
	value, err := c.parse(text)
	if err != nil {
		return err
	}
	*c.value, c.text = value, text
	return nil
}

// BoolVar declares a flag that is true or false, as ParseBool reads it, and false by default. On a command
// line it needs no value.
func BoolVar(fs *pflag.FlagSet, p *bool, name, usage string) {
	fs.VarPF((*yesNo)(p), name, "", usage).NoOptDefVal = "true"
}

type yesNo bool

func (b *yesNo) Set(text string) error {
	yes, err := ParseBool(text)
	if err == nil {
		*b = yesNo(yes)
	}
	return err
}

func (b *yesNo) String() string { return strconv.FormatBool(bool(*b)) }
func (b *yesNo) Type() string   { return "bool" }

// WordVar is Var for a closed set of words, which shells complete.
func WordVar(fs *pflag.FlagSet, p *string, name, kind, byDefault, usage string, words ...string) {
	Var(fs, p, name, kind, byDefault, usage, OneOf(words...))
	CompleteWords(fs, name, words...)
}

// CompleteWords makes shells complete the words that a flag accepts.
func CompleteWords(fs *pflag.FlagSet, name string, words ...string) {
	must(fs.SetAnnotation(name, wordsAnnotation, words))
}

// OneOf makes a parser of a closed set of words.
func OneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return text, nil
	}
}

// WordsVar declares a flag that takes some of a closed set of words, separated by commas, in any order.
func WordsVar(fs *pflag.FlagSet, p *[]string, name, kind, usage string, words ...string) {
	Var(fs, p, name, kind, "", usage, func(text string) ([]string, error) {
		chosen := strings.Split(text, ",")
		for i, word := range chosen {
			chosen[i] = strings.TrimSpace(word)
			if !slices.Contains(words, chosen[i]) {
				return nil, fmt.Errorf("must be some of %s, separated by commas; %q is not one of them", strings.Join(words, ", "), chosen[i])
			}
		}
		return append(*p, chosen...), nil
	})
	CompleteWords(fs, name, words...)
	must(fs.SetAnnotation(name, listAnnotation, []string{}))
}

// HostsVar declares a flag that takes hosts, separated by commas, and may be given several times.
func HostsVar(fs *pflag.FlagSet, p *[]string, name, usage string) {
	Var(fs, p, name, "HOST", "", usage, func(text string) ([]string, error) {
		hosts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		if len(hosts) == 0 {
			return nil, fmt.Errorf("must be the host of a domain")
		}
		return append(*p, hosts...), nil
	})
	must(fs.SetAnnotation(name, listAnnotation, []string{}))
}

// maxShownValue is how many bytes of a refused value are shown: enough to recognize it.
const maxShownValue = 100

// ValueError explains why f refuses text, and shows text. cause is the error of pflag.
func ValueError(f *pflag.Flag, text string, cause error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(cause, &invalid) {
		cause = invalid.Unwrap()
	}
	reason := reasonOf(f, cause)
	switch {
	case annotated(f, secretAnnotation) || errors.Is(reason, errEmpty) || strings.Contains(reason.Error(), `"`):
		return reason
	case text == "":
		return fmt.Errorf("%w; it is empty", reason)
	case len(text) > maxShownValue:
		text = text[:maxShownValue] + "…"
	}
	return fmt.Errorf("%w; it is %q", reason, text)
}

// reasonOf translates the errors of pflag's own parsers; those of our parsers are clear already.
func reasonOf(f *pflag.Flag, cause error) error {
	var number *strconv.NumError
	var list *csv.ParseError
	switch kind := f.Value.Type(); {
	case errors.As(cause, &list):
		return errors.New("must be a list with commas, with no quotes in it")
	case !errors.As(cause, &number):
		return cause
	case kind == "bool":
		return errors.New("must be true or false")
	case errors.Is(number, strconv.ErrRange):
		return errors.New("must be a smaller number")
	case strings.HasPrefix(kind, "uint"):
		return errors.New("must be a number that is not negative")
	}
	return errors.New("must be a number")
}

func (c *checked[T]) String() string { return c.text }

func (c *checked[T]) Type() string { return c.kind }
