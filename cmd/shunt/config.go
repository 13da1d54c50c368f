package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Where a setting comes from: its flag, else its environment variable, else its key in the file of --config, else
// the flag's default. The flags of the commands are the only schema. What the other sources say is given to the flag
// that has not been set on the command line, so that one parser checks a value wherever it comes from.

const (
	envPrefix  = "SHUNT_"
	fileSuffix = "-file" // SHUNT_TOKEN_FILE holds the path of a file that holds the token

	argumentAnnotation = "shunt argument" // belongs to one call: a flag only
	secretAnnotation   = "shunt secret"   // may be given as the path of a file, and is never shown
	sourceAnnotation   = "shunt source"   // the variable, or FILE:LINE:COLUMN, that has set it
	wordsAnnotation    = "shunt words"    // the words that it may be

	// maxSecretFileBytes stops a wrong path (a device, a log) from being read whole. A token has 43 bytes.
	maxSecretFileBytes = 4096
)

// markArguments takes flags out of the environment and the file: they say what this one call is about.
func markArguments(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		must(fs.SetAnnotation(name, argumentAnnotation, []string{}))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func annotated(f *pflag.Flag, annotation string) bool {
	_, ok := f.Annotations[annotation]
	return ok
}

// loadSettings gives cmd's flags the values of the environment and of the file of --config.
// Unknown keys of the file are usage errors; unknown variables are warned of, since they may be another version's.
func loadSettings(cmd *cobra.Command, environ []string, stderr io.Writer) error {
	if cmd.Flags().Lookup("config") == nil {
		return nil
	}
	known := knownSettings(cmd.Root())
	variables, err := readEnvironment(environ, known, stderr)
	if err != nil {
		return err
	}
	if err := apply(cmd.Flags(), variables); err != nil {
		return err
	}
	path := cmd.Flag("config").Value.String()
	if path == "" {
		return nil
	}
	keys, err := readFile(path, known)
	return errors.Join(err, apply(cmd.Flags(), keys))
}

// knownSettings returns the settings of every command, so that one file and one environment serve them all.
func knownSettings(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	for _, cmd := range commandsOf(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !annotated(f, argumentAnnotation) {
				known[f.Name] = f
			}
		})
	}
	return known
}

func environmentName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func settingName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, envPrefix), "_", "-"))
}

// readEnvironment returns the values of the SHUNT_ variables by setting.
func readEnvironment(environ []string, known map[string]*pflag.Flag, stderr io.Writer) (map[string]given, error) {
	var errs []error
	settings := map[string]given{}
	for _, entry := range environ {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, envPrefix) {
			continue
		}
		name := settingName(variable)
		value, err := secretFromFile(&name, value, known)
		switch {
		case err != nil:
			errs = append(errs, usageErrorf("%s: %w", variable, err))
		case known[name] == nil || variable != strings.ToUpper(variable):
			fmt.Fprintf(stderr, "shunt: warning: %s is ignored: there is no such setting%s\n", variable,
				didYouMean(name, slices.Collect(maps.Keys(known)), environmentName))
		case settings[name].source != "":
			errs = append(errs, usageErrorf("%s and %s are both set; choose one", settings[name].source, variable))
		default:
			settings[name] = given{text: value, source: variable}
		}
	}
	return settings, errors.Join(errs...)
}

// secretFromFile reads value's file if name is a secret's name and fileSuffix, and takes the suffix away.
func secretFromFile(name *string, value string, known map[string]*pflag.Flag) (string, error) {
	secret, found := strings.CutSuffix(*name, fileSuffix)
	if !found || known[secret] == nil || !annotated(known[secret], secretAnnotation) {
		return value, nil
	}
	*name = secret
	f, err := os.Open(value)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFileBytes+1))
	if err == nil && len(text) > maxSecretFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", value, maxSecretFileBytes)
	}
	return strings.TrimSpace(string(text)), err
}

// apply sets those of fs's flags that settings has and that nothing stronger has set.
func apply(fs *pflag.FlagSet, settings map[string]given) error {
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		from, found := settings[f.Name]
		if f.Changed || !found {
			return
		}
		if err := fs.Set(f.Name, from.text); err != nil {
			errs = append(errs, usageErrorf("%s%s: %w", from.source, from.key, valueError(f, from.text, err)))
			return
		}
		must(fs.SetAnnotation(f.Name, sourceAnnotation, []string{from.source}))
	})
	return errors.Join(errs...)
}

// A checked is a flag whose text is parsed, and refused, where it is given.
type checked[T any] struct {
	value *T
	text  string
	kind  string // as --help names the value
	parse func(text string) (T, error)
}

func checkedVar[T any](fs *pflag.FlagSet, p *T, name, kind, byDefault, usage string, parse func(string) (T, error)) {
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

func (c *checked[T]) String() string { return c.text }
func (c *checked[T]) Type() string   { return c.kind }

// wordVar is checkedVar for a closed set of words, which shells complete.
func wordVar(fs *pflag.FlagSet, p *string, name, kind, byDefault, usage string, words ...string) {
	checkedVar(fs, p, name, kind, byDefault, usage, oneOf(words...))
	completeWords(fs, name, words...)
}

// completeWords has shells complete the words that a flag may be.
func completeWords(fs *pflag.FlagSet, name string, words ...string) {
	must(fs.SetAnnotation(name, wordsAnnotation, words))
}

// oneOf makes a parser of a closed set of words.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return text, nil
	}
}
