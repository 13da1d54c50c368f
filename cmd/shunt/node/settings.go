package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shunt/api/cluster"
	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/settings"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog"
)

// Roles of a node.
const (
	Full = "full" // has everything
	Edge = "edge" // has links only
)

// DefaultStaleAfter is how long a node answers API requests without the log of its cluster.
const DefaultStaleAfter = 10 * time.Second

// Settings are those of a node of a cluster. The zero value is a process of its own.
type Settings struct {
	Cluster    string // etcd://host:port,host:port…/prefix/; "": no cluster
	ClusterAt  string // a file whose first line is Cluster; "": none. Check reads it
	Name       string
	Advertise  string // https://host:port
	Role       string
	Listen     string
	CA         string
	Cert       string
	Key        string
	StaleAfter time.Duration
}

// Add adds the flags of s.
func Add(fs *pflag.FlagSet, s *Settings) {
	fs.Var(addresses{&s.Cluster}, "cluster", "`ADDRESSES` of the servers of etcd that keep the cluster's log, such as etcd://h1:2379,h2:2379,h3:2379, "+
		"and at the end the prefix of its keys if that is not /shunt/ (default: no cluster)")
	fs.StringVar(&s.ClusterAt, "cluster-file", "", "`FILE` whose first line is --cluster, for addresses with a password of etcd (etcd://USER:PASSWORD@h1:2379)")
	fs.StringVar(&s.Name, "node-name", "", "`NAME` of this node in its cluster, of a-z, 0-9 and -; the first DNS name of its certificate")
	fs.StringVar(&s.Advertise, "advertise", "", "`URL` at which other nodes reach --cluster-listen, such as https://a:8443")
	settings.WordVar(fs, &s.Role, "role", "ROLE", Full,
		"what this node has: full (everything) or edge (links only; it sends API requests on to full nodes)", Full, Edge)
	settings.Var(fs, &s.Listen, "cluster-listen", "ADDRESS", "", "address for the other nodes of the cluster, such as :8443", settings.ParseListen)
	fs.StringVar(&s.CA, "cluster-ca", "", "PEM `FILE` of the authority that signs the certificates of all nodes and of etcd's servers; read once, at start")
	fs.StringVar(&s.Cert, "cluster-cert", "", "PEM `FILE` of this node's certificate, for the other nodes and for etcd; read again when it changes")
	fs.StringVar(&s.Key, "cluster-key", "", "PEM `FILE` of the private key of --cluster-cert")
	settings.Var(fs, &s.StaleAfter, "stale-after", "DURATION", DefaultStaleAfter.String(),
		"how long this node answers API requests without the log of its cluster; redirects go on", parseStaleAfter)
}

func parseStaleAfter(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 10s or 1m")
	}
	if d < time.Second || d > time.Hour {
		return 0, errors.New("must be from 1s to 1h")
	}
	return d, nil
}

// AddJoin adds the flags of s that a copy of another node's data needs, and more of them.
func AddJoin(fs *pflag.FlagSet, s *Settings, more ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	Add(all, s)
	for _, name := range append([]string{"cluster", "cluster-file", "node-name", "cluster-ca", "cluster-cert", "cluster-key"}, more...) {
		fs.AddFlag(all.Lookup(name))
	}
}

// CheckJoin is Check for the settings of AddJoin.
func (s *Settings) CheckJoin() error {
	if err := s.readCluster(); err != nil {
		return err
	}
	if s.Cluster == "" {
		return settings.UsageErrorf("--cluster is missing: name the servers of etcd, such as etcd://h1:2379,h2:2379,h3:2379")
	}
	full := *s
	full.ClusterAt = ""
	full.Advertise, full.Listen = "https://this.invalid:1", ":1"
	return full.Check()
}

// names are those that a node may have: a label of a host name.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxClusterFile stops a wrong path from being read whole, in bytes.
const maxClusterFile = 4096

// readCluster takes Cluster from its file, if there is one. No error shows what is in the file.
func (s *Settings) readCluster() error {
	if s.ClusterAt == "" {
		return nil
	}
	if s.Cluster != "" {
		return settings.UsageErrorf("--cluster and --cluster-file are both set; choose one")
	}
	text, err := settings.ReadAtMost(s.ClusterAt, maxClusterFile)
	if err != nil {
		return settings.UsageErrorf("--cluster-file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return settings.UsageErrorf("--cluster-file: the first line of %s is empty; it must be like etcd://h1:2379,h2:2379,h3:2379", s.ClusterAt)
	}
	s.Cluster, s.ClusterAt = line, ""
	return nil
}

// OfEdge reports whether the settings are those of an edge of a cluster.
func (s *Settings) OfEdge() bool { return s.Cluster != "" && s.Role == Edge }

// Check refuses settings that are missing or wrong. It reads no file but ClusterAt.
func (s *Settings) Check() error {
	if err := s.readCluster(); err != nil {
		return err
	}
	if s.Cluster == "" {
		for flag, value := range map[string]string{"--node-name": s.Name, "--advertise": s.Advertise, "--cluster-listen": s.Listen} {
			if value != "" {
				return settings.UsageErrorf("%s needs --cluster", flag)
			}
		}
		return nil
	}
	if _, err := s.etcd(); err != nil {
		return settings.UsageErrorf("--cluster: %w", err)
	}
	for _, need := range []struct{ flag, value string }{
		{"--node-name", s.Name}, {"--advertise", s.Advertise}, {"--cluster-listen", s.Listen},
		{"--cluster-ca", s.CA}, {"--cluster-cert", s.Cert}, {"--cluster-key", s.Key},
	} {
		if need.value == "" {
			return settings.UsageErrorf("--cluster needs %s", need.flag)
		}
	}
	if !names.MatchString(s.Name) {
		return settings.UsageErrorf("--node-name %q must be 1 to 63 of a-z, 0-9 and -, such as edge-1", s.Name)
	}
	if err := clusterlog.CheckNodeName(s.Name); err != nil {
		return settings.UsageErrorf("--node-name: %w", err)
	}
	if _, err := addressOf(s.Advertise); err != nil {
		return settings.UsageErrorf("--advertise: %w", err)
	}
	return nil
}

// addressOf returns the host:port of an advertised URL.
func addressOf(advertise string) (string, error) {
	u, err := url.Parse(advertise)
	if err != nil || u.Scheme != "https" || u.Port() == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("%q must be like https://a.example:8443", advertise)
	}
	return u.Host, nil
}

// etcd returns how to reach the log. etcd:// is TLS with the node's certificate; etcd+http:// is plain,
// for servers on the same machine or in a network of their own.
func (s *Settings) etcd() (o etcdlog.Options, err error) {
	rest, plain := strings.CutPrefix(s.Cluster, "etcd+http://")
	if !plain {
		var found bool
		if rest, found = strings.CutPrefix(s.Cluster, "etcd://"); !found {
			return o, fmt.Errorf("%q must be like etcd://h1:2379,h2:2379,h3:2379", redacted(s.Cluster))
		}
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		if o.Username, err = url.PathUnescape(user); err == nil {
			o.Password, err = url.PathUnescape(password)
		}
		if err != nil {
			return o, errors.New("the user or the password before @ is not well-formed: write % as %25")
		}
		rest = rest[at+1:]
	}
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		if o.Prefix = rest[slash:]; o.Prefix == "/" {
			o.Prefix = ""
		}
		rest = rest[:slash]
	}
	for endpoint := range strings.SplitSeq(rest, ",") {
		if _, _, err := net.SplitHostPort(endpoint); err != nil {
			return o, fmt.Errorf("%q must be host:port", endpoint)
		}
		o.Endpoints = append(o.Endpoints, endpoint)
	}
	if !plain {
		o.TLS = new(tls.Config)
	}
	return o, nil
}

// addresses is the flag of the cluster's addresses. What it shows has no password.
type addresses struct{ text *string }

func (a addresses) Set(text string) error {
	*a.text = text
	return nil
}

func (a addresses) String() string { return redacted(*a.text) }

func (addresses) Type() string { return "string" }

// redacted returns the addresses without what is before @, which may be a password.
func redacted(cluster string) string {
	if at := strings.LastIndexByte(cluster, '@'); at >= 0 {
		return "…" + cluster[at:]
	}
	return cluster
}

// identity is the node's certificate, which may be replaced, and the authority that it believes.
type identity struct {
	certificate func() *tls.Certificate // in force
	authority   *x509.CertPool
}

// readIdentity reads the certificates and checks that this node's has its name. The files are those of its own.
func (s *Settings) readIdentity(log *slog.Logger) (id identity, files *certs.Files, err error) {
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return id, nil, fmt.Errorf("--cluster-ca: %w", err)
	}
	id.authority = x509.NewCertPool()
	if !id.authority.AppendCertsFromPEM(pem) {
		return id, nil, fmt.Errorf("--cluster-ca: %s has no certificate in PEM", s.CA)
	}
	files, err = certs.OpenFiles(certs.Pair{
		Cert: s.Cert, Key: s.Key, CertFlag: "--cluster-cert", KeyFlag: "--cluster-key",
		Accept: func(c *tls.Certificate) error {
			err := s.checkCertificate(c.Leaf, id.authority)
			if err == nil && files != nil && cluster.IsEdge(c.Leaf) != cluster.IsEdge(files.Current().Leaf) {
				err = errors.New("a node keeps its role: one of the two certificates is for an edge (OU=edge)")
			}
			return err
		},
	}, log)
	if err == nil {
		id.certificate = files.Current
	}
	return id, files, err
}

// checkCertificate refuses a certificate by which others would not know this node.
func (s *Settings) checkCertificate(leaf *x509.Certificate, authority *x509.CertPool) error {
	if err := leaf.VerifyHostname(s.Name); err != nil {
		return fmt.Errorf("the certificate is not that of the node %s: %w", s.Name, err)
	}
	if len(leaf.DNSNames) == 0 || leaf.DNSNames[0] != s.Name { // by which other nodes know it
		return fmt.Errorf("the first DNS name of the certificate must be the name of the node, %s; its names are %q", s.Name, leaf.DNSNames)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: authority, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			return fmt.Errorf("other nodes would refuse it (it must be for servers and clients): %w", err)
		}
	}
	return nil
}

// server returns the settings of the cluster listener: only nodes with a certificate may connect.
func (id *identity) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: id.authority, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.certificate(), nil },
	}
}

// client returns the settings of connections to other nodes and to etcd.
func (id *identity) client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: id.authority,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return id.certificate(), nil },
	}
}
