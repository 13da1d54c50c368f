package usage

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/cmd/shunt/settings"
)

// AddConfig gives cmd the flag that names the file of settings. A command with it takes settings.
func AddConfig(cmd *cobra.Command) {
	cmd.Flags().String("config", "", "TOML `FILE` of settings")
}

// LoadSettings gives cmd's flags the values of the environment and of the file of --config, if cmd
// takes settings at all.
func LoadSettings(cmd *cobra.Command, environ []string, stderr io.Writer) error {
	if cmd.Flags().Lookup("config") == nil {
		return nil
	}
	return settings.Apply(cmd.Flags(), KnownSettings(cmd.Root()), environ, stderr)
}

// KnownSettings returns the settings of every command, so that one file and one environment serve
// them all.
func KnownSettings(root *cobra.Command) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	for _, cmd := range CommandsOf(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if settings.IsSetting(f) {
				known[f.Name] = f
			}
		})
	}
	return known
}

// AboutSettings is what the commands and the topic say about where settings come from.
const AboutSettings = `Every setting is a flag, an environment variable and a key of the TOML file that --config names, in this order of precedence:

  flag                    --base-url https://sho.rt
  environment variable    SHUNT_BASE_URL=https://sho.rt         SHUNT_ and the flag in capitals, with _ for -
  key of the file         base-url = "https://sho.rt"           or base_url

A list is a repeated flag, or one with commas; a variable with commas; an array, or a text with commas:

  flag                    --trusted-proxy 10.0.0.0/8 --trusted-proxy ::1
  environment variable    SHUNT_TRUSTED_PROXY=10.0.0.0/8,::1
  key of the file         trusted-proxy = ["10.0.0.0/8", "::1"]

The file has no tables. Numbers, true and false are written without quotes, everything else in quotes.
One file and one environment serve all commands: each takes what it needs. A secret may be read from a
file: SHUNT_TOKEN_FILE names a file that contains the value of SHUNT_TOKEN.`
