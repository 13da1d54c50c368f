package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shunt/engine/plural"
)

const (
	EnvPrefix  = "SHUNT_"
	fileSuffix = "-file" // SHUNT_TOKEN_FILE holds the path of a file that holds the token

	argumentAnnotation = "shunt argument" // belongs to one call: a flag only
	secretAnnotation   = "shunt secret"   // may be given as the path of a file, and is never shown
	sourceAnnotation   = "shunt source"   // the variable, or FILE:LINE:COLUMN, that has set it
	wordsAnnotation    = "shunt words"    // the words that it may be
	listAnnotation     = "shunt list"     // it takes several words

	// maxSecretFileBytes stops a wrong path (a device, a log) from being read whole. A token has 43
	// bytes.
	maxSecretFileBytes = 4096
)

// Apply gives the flags of fs the values of the environment and of the file that the flag --config
// names. known are the settings of every command.
//
// Unknown keys of the file are usage errors; unknown variables are warned of, since they may be
// another version's.
func Apply(fs *pflag.FlagSet, known map[string]*pflag.Flag, environ []string, stderr io.Writer) error {
	variables, err := readEnvironment(environ, known, stderr)
	if err != nil {
		return err
	}
	if err := apply(fs, variables); err != nil {
		return err
	}
	path := fs.Lookup("config").Value.String()
	if path == "" {
		return nil
	}
	keys, err := readFile(path, known)
	return errors.Join(err, apply(fs, keys))
}

// CopyGiven gives the flags of to the values that the command line gave those of from.
func CopyGiven(to, from *pflag.FlagSet) error {
	var errs []error
	from.Visit(func(f *pflag.Flag) {
		if sourceOf(f) != fromFlag || to.Lookup(f.Name) == nil {
			return
		}
		text := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			text = strings.Join(list.GetSlice(), ",")
		}
		errs = append(errs, to.Set(f.Name, text))
	})
	return errors.Join(errs...)
}

func environmentName(setting string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func settingName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, EnvPrefix), "_", "-"))
}

// readEnvironment returns the values of the SHUNT_ variables by setting.
func readEnvironment(environ []string, known map[string]*pflag.Flag, stderr io.Writer) (map[string]given, error) {
	var errs []error
	var strange []string
	settings := map[string]given{}
	for _, entry := range environ {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, EnvPrefix) || value == "" { // ${VARIABLE} of a compose file is empty if it is not set
			continue
		}
		name := settingName(variable)
		value, err := secretFromFile(&name, value, known)
		switch {
		case err != nil:
			errs = append(errs, UsageErrorf("%s: %w", variable, err))
		case known[name] == nil || variable != strings.ToUpper(variable):
			strange = append(strange, variable)
		case settings[name].source != "":
			errs = append(errs, UsageErrorf("%s and %s are both set; choose one", settings[name].source, variable))
		default:
			settings[name] = given{text: value, source: variable}
		}
	}
	warnOfStrange(strange, known, stderr)
	return settings, errors.Join(errs...)
}

// ofServices are the variables that Kubernetes and links of Docker set for a service called shunt, or
// shunt- and more.
var ofServices = regexp.MustCompile(`^SHUNT_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// warnOfStrange names the variables that are no settings, with one line for each kind: others stand in
// the way of the first lines of a log.
func warnOfStrange(variables []string, known map[string]*pflag.Flag, stderr io.Writer) {
	slices.Sort(variables)
	var services, others []string
	for _, variable := range variables {
		service, _ := strings.CutSuffix(variable, "_PORT")
		mistake := variable == EnvPrefix+"PORT" && !slices.Contains(variables, service+"_SERVICE_HOST") // a person's
		if ofServices.MatchString(variable) && !mistake {
			services = append(services, variable)
			continue
		}
		others = append(others, variable+DidYouMean(settingName(variable), slices.Collect(maps.Keys(known)), environmentName))
	}
	switch {
	case len(others) == 1:
		name, hint, _ := strings.Cut(others[0], ";")
		if hint != "" {
			hint = ";" + hint
		}
		fmt.Fprintf(stderr, "shunt: warning: %s is ignored: there is no such setting%s\n", name, hint)
	case len(others) > 1:
		fmt.Fprintf(stderr, "shunt: warning: %d variables are ignored, because there are no such settings: %s\n", len(others), firstFew(others))
	}
	if len(services) > 0 {
		fmt.Fprintf(stderr, "shunt: warning: ignored: %s of a service of Kubernetes, %s (enableServiceLinks: false leaves them out)\n",
			plural.Of(uint64(len(services)), "variable", "variables"), firstFew(services))
	}
}

// firstFew lists the first names, and how many more there are.
func firstFew(names []string) string {
	const few = 3
	text := strings.Join(names[:min(few, len(names))], ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// secretFromFile reads value's file if name is a secret's name and fileSuffix, and takes the suffix
// away.
func secretFromFile(name *string, value string, known map[string]*pflag.Flag) (string, error) {
	secret, found := strings.CutSuffix(*name, fileSuffix)
	if !found || known[secret] == nil || !annotated(known[secret], secretAnnotation) {
		return value, nil
	}
	*name = secret
	text, err := ReadAtMost(value, maxSecretFileBytes)
	return strings.TrimSpace(string(text)), err
}

// ReadAtMost reads a file, and refuses a larger one: a wrong path (a device, a log) is not read whole.
func ReadAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}

// apply sets those of fs's flags that settings has and that nothing stronger has set.
func apply(fs *pflag.FlagSet, settings map[string]given) error {
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		from, found := settings[f.Name]
		if f.Changed || !found || annotated(f, argumentAnnotation) { // an argument may have the name of a setting of serve
			return
		}
		if err := fs.Set(f.Name, from.text); err != nil {
			errs = append(errs, UsageErrorf("%s%s: %w", from.source, from.key, ValueError(f, from.text, err)))
			return
		}
		must(fs.SetAnnotation(f.Name, sourceAnnotation, []string{from.source}))
	})
	return errors.Join(errs...)
}
