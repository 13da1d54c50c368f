package browser

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// A certificateFile is the certificate of all servers over HTTPS.
type certificateFile struct {
	cert, key, authority string // paths
	roots                *x509.CertPool
	spki                 string // the hash of its public key, by which the browser accepts it
}

var certified struct {
	sync.Mutex
	certificateFile
}

// certificate makes the certificate at its first call.
func certificate(t *testing.T) certificateFile {
	t.Helper()
	certified.Lock()
	defer certified.Unlock()
	if certified.cert != "" {
		return certified.certificateFile
	}
	authority := certtest.NewAuthority(t)
	certPEM, keyPEM := authority.Issue()
	block, _ := pem.Decode(certPEM)
	parsed, err := x509.ParseCertificate(block.Bytes)
	expect.OK(t, err)
	hash := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	made := certificateFile{
		cert: filepath.Join(work, "cert.pem"), key: filepath.Join(work, "key.pem"), authority: filepath.Join(work, "ca.pem"),
		roots: authority.Pool(), spki: base64.StdEncoding.EncodeToString(hash[:]),
	}
	for path, content := range map[string][]byte{made.cert: certPEM, made.key: keyPEM, made.authority: authority.PEM()} {
		expect.OK(t, os.WriteFile(path, content, 0o600))
	}
	certified.certificateFile = made
	return made
}
