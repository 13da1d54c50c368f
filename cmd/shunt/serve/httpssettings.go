package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/acme/autocert"

	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/orders"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// httpsSettings say how the public address speaks HTTPS, if it does. The domain of ACME is among
// those of the data, because the base URL follows from it.
type httpsSettings struct {
	certFiles, keyFiles []string
	acmeEmail           string
	acmeTerms           bool
	acmeDirectory       string
	acmeCheck           string
	acmeTest            acmeTest
	hstsMaxAge          time.Duration
	redirectListen      string // empty: none
}

// pairs returns the files of the certificates.
func (s *httpsSettings) pairs() (pairs []certs.Pair) {
	for i := range s.certFiles {
		pairs = append(pairs, certs.Pair{Cert: s.certFiles[i], Key: s.keyFiles[i], CertFlag: "--tls-cert", KeyFlag: "--tls-key"})
	}
	return pairs
}

// An acmeTest stands in for what authorities and the check of a host find on the internet. It is for tests.
type acmeTest struct{ dns, plainPort, tlsPort string }

// parse reads DNS,PORT,PORT: the address of a DNS server, asked over TCP, and the ports of all hosts.
func (a *acmeTest) parse(text string) (string, error) {
	parts := strings.Split(text, ",")
	if text != "" && len(parts) != 3 {
		return "", errors.New("must be DNS,PORT,PORT")
	}
	if text != "" {
		*a = acmeTest{parts[0], parts[1], parts[2]}
	}
	return text, nil
}

// reach returns how hosts are asked whether they lead here.
func (s *httpsSettings) reach() *orders.Reach {
	r := &orders.Reach{
		Resolver: net.DefaultResolver, Private: s.acmeCheck == checkAny, Off: s.acmeCheck == checkOff,
		Plain: cmp.Or(s.acmeTest.plainPort, "80"), TLS: cmp.Or(s.acmeTest.tlsPort, "443"),
		Unreachable: "the domain's port 443 must lead to --listen, or its port 80 to --http-redirect-listen",
	}
	if dns := s.acmeTest.dns; dns != "" {
		r.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", dns)
		}}
	}
	return r
}

// Values of --acme-check.
const (
	checkPublic = "public"
	checkAny    = "any"
	checkOff    = "off"
)

func addHTTPSSettings(fs *pflag.FlagSet, s *httpsSettings) {
	fs.StringSliceVar(&s.certFiles, "tls-cert", nil, "PEM `FILE` of the certificate and its chain, for HTTPS; read again when it changes; "+
		"may be repeated or a list with commas: a name that none covers gets the first")
	fs.StringSliceVar(&s.keyFiles, "tls-key", nil, "PEM `FILE` of its private key; as many as of --tls-cert, in their order")
	settings.Var(fs, &s.acmeEmail, "acme-email", "ADDRESS", "", "e-mail address for the certificate authority", parseEmail)
	fs.BoolVar(&s.acmeTerms, "acme-accept-terms", false, "accept the authority's terms of service; --acme-domain needs it")
	settings.Var(fs, &s.acmeDirectory, "acme-directory", "URL", autocert.DefaultACMEDirectory,
		"the ACME authority's directory; to trust one with a self-signed certificate, set the variable SSL_CERT_FILE", parseURL)
	settings.WordVar(fs, &s.acmeCheck, "acme-check", "WHO", checkPublic,
		"before a certificate is ordered, ask the host whether it leads here: public (a private address is refused), any (for an authority of your own) "+
			"or off (for a server that cannot reach itself by its names)", checkPublic, checkAny, checkOff)
	settings.Var(fs, new(string), "acme-test", "DNS,PORT,PORT", "", "for tests: what stands in for DNS, and the ports of all hosts", s.acmeTest.parse)
	usage.Must(fs.MarkHidden("acme-test"))
	settings.MarkArguments(fs, "acme-test")
	settings.Var(fs, &s.hstsMaxAge, "hsts-max-age", "DURATION", "365d",
		"how long browsers that have seen a page over HTTPS must use only HTTPS (Strict-Transport-Security); or off", parseMaxAge)
	settings.Var(fs, &s.redirectListen, "http-redirect-listen", "ADDRESS", "",
		"address at which plain HTTP is redirected to the base URL, such as :80; ACME's challenges are answered there", settings.ParseListen)
}

// check refuses settings that contradict each other.
func (s *httpsSettings) check(data *core.Data) error {
	switch acmeSet, filesSet := data.ACMEDomain != "", len(s.certFiles) > 0 || len(s.keyFiles) > 0; {
	case len(s.certFiles) != len(s.keyFiles):
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
