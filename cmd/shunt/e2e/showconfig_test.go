package e2e

import (
	"testing"

	"shunt/cmd/shunt/certs/certtest"
)

func TestConfigCheckTriesTheCertificate(t *testing.T) {
	a := certtest.NewAuthority(t)
	cert, _ := a.Issue()
	_, key := a.Issue()
	pair := certtest.NewFolder(t, cert, key)
	torn := writeFile(t, "torn.toml", "base-url = \"https://sho.rt\"\ntls-cert = \""+pair.Cert+"\"\ntls-key = \""+pair.Key+"\"\n")
	shunt(t, t.TempDir(), nil, "config", "check", torn).want(t, exitFailed, "", "the key does not belong to the certificate\n$")
}
