package serve

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"shunt/api/blocklist"
	"shunt/api/visitor"
	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// NewConfig returns the command config, for all settings of the commands below root and of serve.
func NewConfig(root *cobra.Command, cluster Cluster, stdout, stderr io.Writer) *cobra.Command {
	cfg, asJSON, asTOML, asSample := serveConfig{addNode: cluster}, false, false, false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force and their sources",
		Long: `Print the settings that 'shunt serve' would have with the same flags, environment and file, and the
source of each: a flag, an environment variable, FILE:LINE:COLUMN, or the default. Secrets are not
shown. Nothing is started or changed. If settings contradict each other, the command says so and exits
with 2.

` + usage.AboutSettings,
		Example: `  shunt config
  shunt config --config /etc/shunt.toml --json | jq -r '."base-url".value'
  shunt config --toml > shunt.toml
  shunt config --sample --data /var/lib/shunt/data > shunt.toml`,
		Args: usage.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && asTOML || asSample && (asJSON || asTOML) {
				return settings.UsageErrorf("--json, --toml and --sample exclude each other")
			}
			rows := settings.Rows(cmd.Flags(), cfg.derived)
			var err error
			switch {
			case asJSON:
				err = console.PrintValue(stdout, rows.ByName())
			case asSample:
				_, err = io.WriteString(stdout, sampleHead+settings.Sample(cmd.Flags(), reloadNote))
			case asTOML:
				_, err = io.WriteString(stdout, rows.TOML())
			default:
				err = console.PrintTable(stdout, rows.Cells())
			}
			return errors.Join(err, cfg.check())
		},
	}
	addAllSettings(cmd, root, &cfg)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object with the value and the source of each setting")
	cmd.Flags().BoolVar(&asTOML, "toml", false, "print a file of settings, with defaults as comments")
	cmd.Flags().BoolVar(&asSample, "sample", false, "print a file that explains every setting, with defaults as comments")
	settings.MarkArguments(cmd.Flags(), "json", "toml", "sample")
	cmd.AddCommand(newConfigCheck(root, cluster, stdout, stderr))
	return cmd
}

// addAllSettings gives cmd the flags of serve, and those settings of the commands below root that
// serve does not have: they may be in the same file.
func addAllSettings(cmd, root *cobra.Command, cfg *serveConfig) {
	addServeSettings(cmd, cfg)
	known := usage.KnownSettings(root)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if cmd.Flags().Lookup(name) == nil {
			own := *known[name] // cobra keeps completions by flag
			cmd.Flags().AddFlag(&own)
		}
	}
}

// sampleHead is the beginning of the output of shunt config --sample.
const sampleHead = `# Settings of shunt, all of them, with their defaults ('shunt config --sample' prints this file). To
# change a setting, remove the # before its name. Then check the file: shunt config check FILE.
#
# The variable SHUNT_LISTEN and the flag --listen take precedence over listen, and so on for the
# others: 'shunt help environment'. A change needs a restart, except where a reload (SIGHUP,
# 'systemctl reload shunt') is enough. One file serves all commands; each takes what it needs. Tokens
# and passwords do not belong here.
`

// reloadNote is what a sample says about how the setting with that name changes.
func reloadNote(name string) string {
	if reloadable(name) {
		return "; a reload changes it"
	}
	return ""
}

func newConfigCheck(root *cobra.Command, cluster Cluster, stdout, stderr io.Writer) *cobra.Command {
	cfg := serveConfig{addNode: cluster}
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a file of settings without starting anything",
		Long: `Check a file of settings as 'shunt serve --config FILE' would, without starting or changing anything:
keys, values, contradictions, and the files that it names (certificates, block list, countries).
Environment and flags count as they do for serve. Exit code 0: the file is fine; 1: a file that it
names is not; 2: the settings are not. All mistakes in the file are reported, each with line and
column.`,
		Example: `  shunt config check /etc/shunt.toml`,
		Args:    usage.Exactly("FILE"),
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			usage.Must(cmd.Flags().Set("config", args[0]))
			return usage.LoadSettings(cmd, os.Environ(), stderr)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.check(); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := cfg.checkFiles(stderr); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err := fmt.Fprintf(stdout, "%s is fine\n", args[0])
			return err
		},
	}
	addAllSettings(cmd, root, &cfg)
	usage.Must(cmd.Flags().MarkHidden("config"))
	return cmd
}

// checkFiles reads the files that settings name, as serve does before it starts. What serve only warns
// about is an error here: whoever asks wants to know.
func (cfg *serveConfig) checkFiles(stderr io.Writer) error {
	log := console.New(stderr, "text", slog.LevelWarn).Log
	var errs []error
	for _, pair := range cfg.https.pairs() {
		_, err := certs.OpenFiles(pair, log)
		errs = append(errs, err)
	}
	if cfg.geoIP != "" {
		if _, err := visitor.ReadCountries(cfg.geoIP); err != nil {
			errs = append(errs, fmt.Errorf("--geoip: %w", err))
		}
	}
	if cfg.blockList != "" {
		if _, err := blocklist.Open(cfg.blockList, log); err != nil {
			errs = append(errs, fmt.Errorf("--block-list: %w", err))
		}
	}
	_, err := cfg.brand.read()
	return errors.Join(append(errs, err)...)
}

// derived returns the base URL where none is given, and the setting from which it follows.
func (cfg *serveConfig) derived(name string) (text, from string) {
	if name != "base-url" {
		return "", ""
	}
	cfg.data.Secure = len(cfg.https.certFiles) > 0
	text, _ = cfg.data.ResolveBaseURL(cfg.data.Listen)
	if cfg.data.ACMEDomain != "" {
		return text, "acme-domain"
	}
	return text, "listen"
}
