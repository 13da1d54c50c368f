package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates for tests.
type Authority struct {
	t    *testing.T
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	N    int64 // the last serial number
}

// NewAuthority makes an authority with a certificate of its own signature.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, N: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.Key, a.Cert = a.sign(template, template, nil)
	return a
}

func (a *Authority) sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// Issue returns a certificate for this machine with its key, in PEM.
func (a *Authority) Issue() (certPEM, keyPEM []byte) {
	a.t.Helper()
	a.N++
	key, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(a.N), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, a.Cert, a.Key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// PEM returns the certificate of the authority.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Cert.Raw})
}

// Pool returns the roots of a client that trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return pool
}

// A Folder has a certificate and its key in files, which can be replaced.
type Folder struct {
	t         *testing.T
	Cert, Key string // paths
}

// NewFolder makes a folder with a pair, in PEM.
func NewFolder(t *testing.T, certPEM, keyPEM []byte) Folder {
	t.Helper()
	dir := t.TempDir()
	f := Folder{t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.Put(f.Cert, certPEM)
	f.Put(f.Key, keyPEM)
	return f
}

// Put replaces a file.
func (f Folder) Put(path string, text []byte) {
	f.t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}
