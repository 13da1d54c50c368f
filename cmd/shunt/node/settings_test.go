package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
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
			if _, err := s.readIdentity(); (err == nil) != c.ok {
				t.Errorf("names %q: got %v, want accepted: %v", c.names, err, c.ok)
			}
		})
	}
}

// writeCertificate writes a certificate that signs itself, and its key.
func writeCertificate(t *testing.T, names []string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, b []byte) string {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("a.crt", "CERTIFICATE", der), write("a.key", "EC PRIVATE KEY", secret)
}
