package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
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
	secretAnnotation   = "shunt secret"   // may be given as the path of a file

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
	if err := apply(cmd.Flags(), variables, environmentName); err != nil {
		return err
	}
	path := cmd.Flag("config").Value.String()
	if path == "" {
		return nil
	}
	keys, err := readFile(path, known)
	if err != nil {
		return err
	}
	return apply(cmd.Flags(), keys, func(name string) string { return name + " in " + path })
}

// knownSettings returns the settings of every command, so that one file and one environment serve them all.
func knownSettings(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !annotated(f, argumentAnnotation) {
				known[f.Name] = f
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return known
}

func environmentName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func settingName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, envPrefix), "_", "-"))
}

// readEnvironment returns the values of the SHUNT_ variables by setting.
func readEnvironment(environ []string, known map[string]*pflag.Flag, stderr io.Writer) (*koanf.Koanf, error) {
	var errs []error
	seen := map[string]string{} // setting: its variable
	take := func(variable, value string) (string, any) {
		name := settingName(variable)
		value, err := secretFromFile(&name, value, known)
		switch {
		case err != nil:
			errs = append(errs, usageErrorf("%s: %w", variable, err))
		case known[name] == nil || variable != strings.ToUpper(variable):
			fmt.Fprintf(stderr, "shunt: warning: there is no setting %s; ignored\n", variable)
		case seen[name] != "":
			errs = append(errs, usageErrorf("%s and %s are both set", seen[name], variable))
		default:
			seen[name] = variable
			return name, value
		}
		return "", nil
	}
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		Prefix:        envPrefix,
		TransformFunc: take,
		EnvironFunc:   func() []string { return environ },
	}), nil)
	return k, errors.Join(append(errs, err)...)
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

// readFile returns the values of the TOML file by setting. Its keys are the flags' names; base_url is base-url.
func readFile(path string, known map[string]*pflag.Flag) (*koanf.Koanf, error) {
	raw := koanf.New(".")
	if err := raw.Load(file.Provider(path), toml.Parser()); err != nil {
		return nil, usageErrorf("--config: %s: %w", path, err)
	}
	k := koanf.New(".")
	for _, key := range raw.Keys() {
		name := strings.ReplaceAll(key, "_", "-")
		if known[name] == nil || name == "config" {
			return nil, usageErrorf("%s: there is no setting %q", path, key)
		}
		if k.Exists(name) {
			return nil, usageErrorf("%s: %q is given twice, with - and with _", path, name)
		}
		must(k.Set(name, raw.Get(key)))
	}
	return k, nil
}

// apply sets those of fs's flags that k has and that nothing stronger has set.
func apply(fs *pflag.FlagSet, k *koanf.Koanf, source func(name string) string) error {
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || !k.Exists(f.Name) {
			return
		}
		if err := fs.Set(f.Name, settingText(k.Get(f.Name))); err != nil {
			errs = append(errs, usageErrorf("%w (from %s)", err, source(f.Name)))
		}
	})
	return errors.Join(errs...)
}

// settingText writes a TOML value as a flag would be given; an array is a list with commas.
func settingText(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ",")
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

// oneOf makes a parser of a closed set of words.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return text, nil
	}
}
