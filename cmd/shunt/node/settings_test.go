package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"shunt/engine/expect"
)

func TestTheFirstNameOfACertificateIsTheNodes(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		ok    bool
	}{
		"its name alone":     {[]string{"a"}, true},
		"its name first":     {[]string{"a", "a.example"}, true},
		"another name first": {[]string{"b", "a"}, false},
		"a pattern":          {[]string{"*.example"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cert, key := writeCertificate(t, c.names)
			s := Settings{Name: "a", CA: cert, Cert: cert, Key: key}
			_, _, err := s.readIdentity(slog.New(slog.DiscardHandler))
			expect.That(t, (err == nil) == c.ok, "names %q: got %v, want accepted: %v", c.names, err, c.ok)
		})
	}
}

// writeCertificate writes a certificate that signs itself, and its key.
func writeCertificate(t *testing.T, names []string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	expect.OK(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	expect.OK(t, err)
	write := func(file, kind string, b []byte) string {
		path := filepath.Join(t.TempDir(), file)
		expect.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600))
		return path
	}
	return write("a.crt", "CERTIFICATE", der), write("a.key", "EC PRIVATE KEY", secret)
}

func TestNoPasswordOfEtcdIsShown(t *testing.T) {
	fs, s := pflag.NewFlagSet("", pflag.ContinueOnError), new(Settings)
	Add(fs, s)
	for text, want := range map[string]string{
		"":                            "",
		"h1:2379":                     "h1:2379",
		"etcd://h1:2379,h2:2379/a/":   "etcd://h1:2379,h2:2379/a/",
		"etcd://ann:hidden@h1:2379":   "…@h1:2379",
		"http://ann:hid@den@h1:2379/": "…@h1:2379/",
	} {
		expect.OK(t, fs.Set("cluster", text))
		got := fs.Lookup("cluster").Value.String()
		expect.That(t, got == want && s.Cluster == text, "%q is shown as %q and set as %q, want %q", text, got, s.Cluster, want)
	}
}

// The addresses may have a password, so they may be in a file of their own.
func TestTheClusterMayBeGivenAsAFile(t *testing.T) {
	const secret = "etcd://ann:hidden@h1:2379/a/"
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "cluster")
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		cluster, at string
		want        string // of the error; "": none
	}{
		"a line":            {"", file(secret + "\nand more\n"), ""},
		"a line and spaces": {"", file("  " + secret + "\r\n"), ""},
		"both":              {"etcd://h1:2379", file(secret), "choose one"},
		"no file":           {"", filepath.Join(t.TempDir(), "none"), "--cluster-file: open "},
		"nothing in it":     {"", file("\n" + secret), "is empty"},
		"too much":          {"", file(secret + strings.Repeat("x", 5000)), "larger than 4096"},
		"nonsense":          {"", file("http://ann:hidden@h1:2379"), "must be like etcd://"},
	} {
		t.Run(name, func(t *testing.T) {
			fs, s := pflag.NewFlagSet("", pflag.ContinueOnError), new(Settings)
			AddJoin(fs, s)
			s.Name, s.CA, s.Cert, s.Key = "a", "ca", "cert", "key"
			expect.OK(t, errors.Join(fs.Set("cluster", c.cluster), fs.Set("cluster-file", c.at)))
			err := s.CheckJoin()
			if c.want == "" {
				o, etcdErr := s.etcd()
				expect.That(t, err == nil && etcdErr == nil && o.Username == "ann" && o.Password == "hidden" && o.Prefix == "/a/",
					"got %+v, %v, %v", o, err, etcdErr)
			} else if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v, want %q and no password", err, c.want)
			}
			shown := fs.Lookup("cluster").Value.String()
			expect.That(t, !strings.Contains(shown, "hidden"), "the flag shows %s", shown)
		})
	}
}

// TestARenewedCertificateNeedsNoRestart replaces the files of a node, with good ones and with those of another node.
func TestARenewedCertificateNeedsNoRestart(t *testing.T) {
	cert, key := writeCertificate(t, []string{"a"})
	s := Settings{Name: "a", CA: cert, Cert: filepath.Join(t.TempDir(), "cert"), Key: filepath.Join(t.TempDir(), "key")}
	put := func(cert, key string) {
		for to, from := range map[string]string{s.Cert: cert, s.Key: key} {
			text, err := os.ReadFile(from)
			expect.OK(t, err)
			expect.OK(t, os.WriteFile(to, text, 0o600))
		}
	}
	put(cert, key)
	id, files, err := s.readIdentity(slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	server, client := id.server(), id.client() // of a listener and of connections that were made at the start
	shown := func() []*x509.Certificate {
		here, err := server.GetCertificate(nil)
		expect.OK(t, err)
		there, err := client.GetClientCertificate(nil)
		expect.OK(t, err)
		return []*x509.Certificate{here.Leaf, there.Leaf}
	}
	first := shown()
	for name, names := range map[string][]string{"of another node": {"b", "a"}, "that this node's authority has not signed": {"a"}} {
		put(writeCertificate(t, names))
		_, err := files.Prepare()
		expect.That(t, err != nil && strings.Contains(err.Error(), "--cluster-cert"), "a certificate %s: %v", name, err)
	}
	expect.That(t, slices.Equal(shown(), first), "a certificate that was refused is in force")
	other, otherKey := writeCertificate(t, []string{"a"})
	text, err := os.ReadFile(other)
	expect.OK(t, err)
	id.authority.AppendCertsFromPEM(text) // it signs itself
	put(other, otherKey)
	commit, err := files.Prepare()
	expect.OK(t, err)
	commit()
	for _, leaf := range shown() {
		expect.That(t, !leaf.Equal(first[0]), "the old certificate is in force")
	}
}
