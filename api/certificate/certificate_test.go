package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"shunt/api/table/tabletest"
	"shunt/engine"
	"shunt/engine/expect"
)

func issue(t *testing.T, host string) (chain, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	expect.OK(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	expect.OK(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func faultsOf(t *testing.T, m *tabletest.Memory) []string {
	t.Helper()
	faults := new(engine.Faults)
	expect.OK(t, Check(m, faults))
	found, _ := faults.Found()
	var texts []string
	for _, f := range found {
		texts = append(texts, f.Where+": "+f.What)
	}
	return texts
}

func TestACertificateBelongsToItsKeyAndHost(t *testing.T) {
	m := tabletest.New()
	c := New(m, nil)
	chain, key := issue(t, "b.test")
	_, other := issue(t, "b.test")
	for name, h := range map[string]Host{
		"another key":  {Name: "b.test", Chain: chain, Key: other},
		"another host": {Name: "c.test", Chain: chain, Key: key},
		"no key":       {Name: "b.test", Chain: chain},
	} {
		expect.That(t, c.Tried(h) != nil && len(m.Rows) == 0, "%s: it is kept", name)
	}
	expect.OK(t, c.Tried(Host{Name: "b.test", Chain: chain, Key: key}))
	expect.That(t, c.Of("b.test").Certificate != nil && len(faultsOf(t, m)) == 0, "it is not kept")
}

func TestTheCheckFindsWhatCannotServe(t *testing.T) {
	m := tabletest.New()
	c := New(m, nil)
	chain, key := issue(t, "b.test")
	expect.OK(t, c.Tried(Host{Name: "b.test", Chain: chain, Key: key}))
	expect.OK(t, c.Expect(Challenge{Token: "t", Host: "b.test", Text: "t.x", Chain: chain, Key: key}))
	good := maps.Clone(m.Rows)
	for name, plant := range map[string]func(){
		"under another host":  func() { m.Rows["hc.test"] = m.Rows["hb.test"] },
		"under another token": func() { m.Rows["pu"] = m.Rows["pt"] },
		"another version":     func() { m.Rows["hb.test"] = strings.Replace(good["hb.test"], `"v":1`, `"v":2`, 1) },
		"no JSON":             func() { m.Rows["a"] = "key" },
		"an unknown row":      func() { m.Rows["z"] = good["hb.test"] },
		"no certificate":      func() { m.Rows["hb.test"] = strings.Replace(good["hb.test"], "BEGIN CERTIFICATE", "BEGIN NONSENSE", 1) },
	} {
		plant()
		found := faultsOf(t, m)
		expect.That(t, len(found) == 1 && !strings.Contains(found[0], "PRIVATE"), "%s: found %q", name, found)
		m.Rows = maps.Clone(good)
	}
	m.Rows["hz.test"] = "nonsense"
	expect.That(t, c.Changed() != nil && c.Of("b.test") != nil, "a row that cannot be read takes the others along")
}

func TestNothingIsInForceThatIsNotDurable(t *testing.T) {
	m := &tabletest.Memory{Rows: make(map[string]string), Fails: engine.ErrReadOnly}
	c := New(m, nil)
	chain, key := issue(t, "b.test")
	expect.That(t, c.Tried(Host{Name: "b.test", Chain: chain, Key: key}) != nil && c.Of("b.test") == nil, "a refused write is in force")
	m.Fails = nil
	expect.OK(t, c.Tried(Host{Name: "b.test", Error: "no", Failures: 1, TriedAt: time.UnixMilli(1000), NextAt: time.UnixMilli(2000)}))
	want := `{"v":1,"host":"b.test","tried_ms":1000,"failures":1,"error":"no","next_ms":2000}`
	expect.Equal(t, m.Rows["hb.test"], want, "the row")
	again := New(m, nil)
	expect.OK(t, again.Changed())
	h := again.Of("b.test")
	expect.That(t, h.Error == "no" && h.Failures == 1 && h.NextAt.UnixMilli() == 2000 && h.Certificate == nil, "got %+v", h)
	all := again.All()
	expect.That(t, len(all) == 1 && all[0] == h, "all: %v", all)
}
