package serve

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/acme/autocert"

	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
)

// httpsSettings say how the public address speaks HTTPS, if it does. The domain of ACME is among
// those of the data, because the base URL follows from it.
type httpsSettings struct {
	certFile, keyFile string
	acmeEmail         string
	acmeTerms         bool
	acmeDirectory     string
	hstsMaxAge        time.Duration
	redirectListen    string // empty: none
}

// pair returns the files of the certificate.
func (s *httpsSettings) pair() certs.Pair {
	return certs.Pair{Cert: s.certFile, Key: s.keyFile, CertFlag: "--tls-cert", KeyFlag: "--tls-key"}
}

func addHTTPSSettings(fs *pflag.FlagSet, s *httpsSettings) {
	fs.StringVar(&s.certFile, "tls-cert", "", "PEM `FILE` of the certificate and its chain, for HTTPS; read again when it changes")
	fs.StringVar(&s.keyFile, "tls-key", "", "PEM `FILE` of its private key")
	settings.Var(fs, &s.acmeEmail, "acme-email", "ADDRESS", "", "e-mail address for the certificate authority", parseEmail)
	fs.BoolVar(&s.acmeTerms, "acme-accept-terms", false, "accept the authority's terms of service; --acme-domain needs it")
	settings.Var(fs, &s.acmeDirectory, "acme-directory", "URL", autocert.DefaultACMEDirectory,
		"the ACME authority's directory; to trust one with a self-signed certificate, set the variable SSL_CERT_FILE", parseURL)
	settings.Var(fs, &s.hstsMaxAge, "hsts-max-age", "DURATION", "365d",
		"how long browsers that have seen a page over HTTPS must use only HTTPS (Strict-Transport-Security); or off", parseMaxAge)
	settings.Var(fs, &s.redirectListen, "http-redirect-listen", "ADDRESS", "",
		"address at which plain HTTP is redirected to the base URL, such as :80; ACME's challenges are answered there", settings.ParseListen)
}

// check refuses settings that contradict each other.
func (s *httpsSettings) check(data *core.Data) error {
	switch acmeSet, filesSet := data.ACMEDomain != "", s.certFile != "" || s.keyFile != ""; {
	case acmeSet && filesSet:
		return settings.UsageErrorf("--acme-domain and --tls-cert, --tls-key are two ways to get a certificate: choose one")
	case filesSet && (s.certFile == "" || s.keyFile == ""):
		return settings.UsageErrorf("--tls-cert and --tls-key need each other")
	case acmeSet && !s.acmeTerms:
		return settings.UsageErrorf("--acme-domain needs --acme-accept-terms: read the terms of service of the authority (%s) first", s.acmeDirectory)
	case s.redirectListen == "":
	case !acmeSet && !filesSet:
		return settings.UsageErrorf("--http-redirect-listen needs --tls-cert and --tls-key, or --acme-domain")
	case strings.HasPrefix(data.BaseURL, "http://"):
		return settings.UsageErrorf("--http-redirect-listen redirects to --base-url, which must begin with https://")
	}
	return nil
}

// parseMaxAge reads a duration such as 365d, 12h or off.
func parseMaxAge(text string) (time.Duration, error) {
	const most = 10 * 365 * 24 * time.Hour
	if text == "off" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Second || d > most {
		return 0, errors.New("must be off, or a duration from 1s to 3650d, such as 365d or 12h")
	}
	return d, nil
}

func parseEmail(text string) (string, error) {
	if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
		return "", errors.New("must be an e-mail address, such as ann@example.com")
	}
	return text, nil
}

func parseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("must be a URL, such as %s", autocert.DefaultACMEDirectory)
	}
	return text, nil
}
