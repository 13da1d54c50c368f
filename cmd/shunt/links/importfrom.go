package links

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/shlink"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/version"
)

// importFrom has the flags of an import from a Shlink server.
type importFrom struct {
	address   string
	keyFile   string
	key       string // of the environment
	allowHTTP bool
}

// maxKeyBytes is more than the key of a server has.
const maxKeyBytes = 4096

func (f *importFrom) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.address, "from", "", "import all links of the Shlink server at `URL`, such as https://shlink.example")
	fs.StringVar(&f.keyFile, "key-file", "", "with --from: the `FILE` with a key of its API (or SHUNT_SOURCE_KEY, or SHUNT_SOURCE_KEY_FILE)")
	fs.StringVar(&f.key, "source-key", "", "the key of --from; only from the environment")
	settings.MarkSecret(fs, "source-key")
	usage.Hide(fs, "source-key")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "with --from: the key may travel unencrypted")
	settings.MarkArguments(fs, "from", "key-file", "allow-http")
}

// check checks the arguments of an import, of which a file is one unless there is --from.
func (f *importFrom) check(cmd *cobra.Command, args []string) error {
	fs := cmd.Flags()
	switch {
	case settings.OnCommandLine(fs.Lookup("source-key")):
		return settings.UsageErrorf("--source-key: others can see arguments: name a file with --key-file, or set SHUNT_SOURCE_KEY")
	case fs.Changed("from"):
		if f.address == "" {
			return settings.UsageErrorf("--from must be the address of a Shlink server, not empty")
		}
		if len(args) > 0 {
			return settings.UsageErrorf("--from imports from a server, and FILE from a file: give one of them")
		}
		return nil
	case fs.Changed("key-file"), settings.OnCommandLine(fs.Lookup("allow-http")):
		return settings.UsageErrorf("--key-file and --allow-http are for --from")
	}
	return usage.Exactly("FILE")(cmd, args)
}

// server returns the server that --from names.
func (f *importFrom) server() (*shlink.Server, error) {
	if f.keyFile != "" {
		text, err := settings.ReadAtMost(f.keyFile, maxKeyBytes)
		if err != nil {
			return nil, fmt.Errorf("--key-file: %w", err)
		}
		f.key = string(text)
	}
	if strings.ContainsAny(strings.TrimSpace(f.key), "\r\n\x00") {
		return nil, settings.UsageErrorf("the key of --from must be one line")
	}
	s, err := shlink.New(f.address, f.key, "shunt/"+version.Text(), f.allowHTTP)
	if err != nil {
		return nil, settings.UsageErrorf("--from %s: %w", console.Quote(f.address), err)
	}
	return s, nil
}

// fetch returns what gets the links of a server, and shows how far it has come.
func fetch(s *shlink.Server, stderr io.Writer) func(context.Context, io.Writer) error {
	return func(ctx context.Context, to io.Writer) error {
		show := console.NewProgress(stderr)
		defer show.End()
		_, err := s.Fetch(ctx, to, func(links, all int64) { show.Say(fmt.Sprintf("fetching: %d of %d links", links, all)) })
		return err
	}
}
