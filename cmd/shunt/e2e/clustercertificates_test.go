package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"shunt/engine/expect"
)

func (s *site) makeAuthority() {
	s.caKey, s.ca = s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, "ca")
}

func (s *site) makeCertificate(name string, units ...string) {
	s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: units},
		DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, name)
}

// sign writes a certificate and its key to files of that name. The first one signs itself.
func (s *site) sign(c *x509.Certificate, name string) (*ecdsa.PrivateKey, *x509.Certificate) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(s.t, err)
	by, byKey := s.ca, s.caKey
	if by == nil {
		by, byKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	expect.OK(s.t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	expect.OK(s.t, err)
	s.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	made, err := x509.ParseCertificate(der)
	expect.OK(s.t, err)
	return key, made
}

func (s *site) write(name string, content []byte) {
	s.t.Helper()
	expect.OK(s.t, os.WriteFile(filepath.Join(s.dir, name), content, 0o600))
}
