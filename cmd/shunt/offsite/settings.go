package offsite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"shunt/cmd/shunt/settings"
	"shunt/engine"
)

// Settings say how the S3 server is reached. Credentials are never among them.
type Settings struct {
	Endpoint    *url.URL // the server's origin
	Region      string   // "": what the server says
	Addressing  string   // of buckets: auto, path or host
	Credentials string   // file; "": the environment
}

// defaultEndpoint is Amazon's, which leads to all its regions.
const defaultEndpoint = "https://s3.amazonaws.com"

// Add adds the settings to fs.
func Add(fs *pflag.FlagSet, s *Settings) {
	settings.Var(fs, &s.Endpoint, "s3-endpoint", "URL", defaultEndpoint, "origin of the S3 server", parseEndpoint)
	settings.Var(fs, &s.Region, "s3-region", "NAME", "", "region of the bucket (default: what the server says)", parseRegion)
	settings.WordVar(fs, &s.Addressing, "s3-addressing", "WORD", "auto",
		"where the bucket's name is: path (https://server/bucket), host (https://bucket.server), or auto (host for servers that are known to have it)",
		"auto", "path", "host")
	fs.StringVar(&s.Credentials, "s3-credentials", "",
		"`FILE` of credentials, with lines aws_access_key_id = … and aws_secret_access_key = … "+
			"(default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment)")
}

func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an origin, such as https://s3.eu-central-1.amazonaws.com")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

var regionName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func parseRegion(text string) (string, error) {
	if text != "" && !regionName.MatchString(text) {
		return "", errors.New("must be the name of a region, such as eu-central-1")
	}
	return text, nil
}

// inTheClear reports whether what is sent can be read on the way to another machine.
func (s *Settings) inTheClear() bool {
	return s.Endpoint.Scheme != "https" && !engine.LoopbackHost(s.Endpoint.Host)
}

// keys are credentials.
type keys struct{ id, secret, session string }

const (
	idVariable      = "AWS_ACCESS_KEY_ID"
	secretVariable  = "AWS_SECRET_ACCESS_KEY"
	sessionVariable = "AWS_SESSION_TOKEN"

	// maxCredentialsFile stops a wrong path from being read whole, in bytes.
	maxCredentialsFile = 64 << 10
)

// errNoCredentials says what is missing.
var errNoCredentials = errors.New("there are no credentials for the S3 server: set " + idVariable + " and " + secretVariable +
	" in the environment, or name a file with them (--s3-credentials)")

// readKeys reads the credentials: each run does, so that new ones need no restart. No error shows what is in the file.
func (s *Settings) readKeys() (keys, error) {
	k := keys{id: os.Getenv(idVariable), secret: os.Getenv(secretVariable), session: os.Getenv(sessionVariable)}
	if s.Credentials != "" {
		text, err := settings.ReadAtMost(s.Credentials, maxCredentialsFile)
		if err != nil {
			return keys{}, fmt.Errorf("--s3-credentials: %w", err)
		}
		k = parseKeys(text)
	}
	switch {
	case k.id != "" && k.secret != "":
		return k, nil
	case s.Credentials != "":
		return keys{}, fmt.Errorf("--s3-credentials: %s lacks a line %s = … or %s = …",
			s.Credentials, strings.ToLower(idVariable), strings.ToLower(secretVariable))
	}
	return keys{}, errNoCredentials
}

// parseKeys reads the keys of a file as the tools of AWS have it. Of several sections it takes the one named default,
// or else the first.
func parseKeys(text []byte) keys {
	var sections []*keys
	chosen, names := 0, map[string]bool{}
	begin := func(name string) {
		sections = append(sections, new(keys))
		if name == "default" && !names[name] {
			chosen = len(sections) - 1
		}
		names[name] = true
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, found := strings.CutPrefix(line, "["); found {
			begin(strings.TrimSpace(strings.TrimSuffix(name, "]")))
			continue
		}
		if len(sections) == 0 {
			begin("")
		}
		key, value, _ := strings.Cut(line, "=")
		k, value := sections[len(sections)-1], strings.TrimSpace(value)
		switch strings.ToUpper(strings.TrimSpace(key)) {
		case idVariable:
			k.id = value
		case secretVariable:
			k.secret = value
		case sessionVariable:
			k.session = value
		}
	}
	if len(sections) == 0 {
		return keys{}
	}
	return *sections[chosen]
}

// AddSeal adds the setting of whom backups are encrypted to.
func AddSeal(fs *pflag.FlagSet, path *string) {
	fs.StringVar(path, "encrypt-to", "", "`FILE` of recipients of age (age1…), one a line, to which backups in a bucket are encrypted (default: they are not)")
}
