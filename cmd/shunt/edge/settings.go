package edge

import (
	"bytes"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
)

// Settings make a server an edge of a writer. Of is empty if it is none.
type Settings struct {
	Of        string // origin of the writer
	TokenFile string
}

// Add adds the settings to fs.
func Add(fs *pflag.FlagSet, s *Settings) {
	settings.Var(fs, &s.Of, "edge-of", "URL", "",
		"origin of the server whose links this one redirects as an edge, such as https://origin.sho.rt: the server's own name, not one that leads to its edges", parseWriter)
	fs.StringVar(&s.TokenFile, "edge-token-file", "", "`FILE` with the token of this edge: 'shunt token add --edge NAME' at the server of --edge-of prints it")
}

// parseWriter reads the origin of a writer.
func parseWriter(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an origin, such as https://origin.sho.rt")
	}
	return u.Scheme + "://" + u.Host, nil
}

// Check refuses settings that are missing or wrong. allowHTTP says that tokens may travel over plain HTTP.
func (s *Settings) Check(allowHTTP bool) error {
	switch {
	case s.Of == "" && s.TokenFile != "":
		return settings.UsageErrorf("--edge-token-file needs --edge-of")
	case s.Of == "":
		return nil
	case s.TokenFile == "":
		return settings.UsageErrorf("--edge-of needs --edge-token-file: 'shunt token add --edge NAME' at %s prints the token", s.Of)
	}
	u, err := url.Parse(s.Of)
	if err != nil {
		return settings.UsageErrorf("--edge-of: %w", err)
	}
	if u.Scheme == "http" && !core.IsLoopback(u.Hostname()) && !allowHTTP {
		return settings.UsageErrorf("--edge-of must begin with https://, because the edge's token and all links travel there (or accept that with --allow-http)")
	}
	return nil
}

// maxTokenFile stops a wrong path from being read whole, in bytes.
const maxTokenFile = 4096

// readToken reads the token of this edge. No error shows what is in the file.
func (s *Settings) readToken() (string, error) {
	text, err := settings.ReadAtMost(s.TokenFile, maxTokenFile)
	if err != nil {
		return "", settings.UsageErrorf("--edge-token-file: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return "", settings.UsageErrorf("--edge-token-file: the first line of %s is empty", s.TokenFile)
	}
	return string(line), nil
}
