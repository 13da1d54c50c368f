package orders

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/api/account"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/table/tabletest"
	"shunt/engine"
	"shunt/engine/expect"
)

// fakeAuthority gives certificates of its own, but not to hosts that it refuses. While held is open, orders wait.
type fakeAuthority struct {
	mu      sync.Mutex
	ordered []string
	running int
	most    int
	refuses map[string]error
	held    chan struct{}
	valid   time.Duration
	now     func() time.Time
}

func (a *fakeAuthority) Order(ctx context.Context, host string, _ []string) (chain, key []byte, err error) {
	a.mu.Lock()
	a.ordered = append(a.ordered, host)
	a.running++
	a.most = max(a.most, a.running)
	err, held := a.refuses[host], a.held
	a.mu.Unlock()
	defer func() { a.mu.Lock(); a.running--; a.mu.Unlock() }()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return issue(host, a.now(), a.valid)
}

func (a *fakeAuthority) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ordered)
}

// issue returns a certificate that signs itself.
func issue(host string, from time.Time, valid time.Duration) (chain, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: from, NotAfter: from.Add(valid)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	return encodePair([][]byte{der}, key)
}

// world is a server that orders, at a time of its own.
type world struct {
	t         *testing.T
	table     *tabletest.Memory
	domains   *domain.Domains
	kept      *certificate.Certificates
	authority *fakeAuthority
	source    *Source
	orderer   *Orderer
	now       time.Time
	leads     bool
	log       bytes.Buffer
}

func newWorld(t *testing.T, hosts ...string) *world {
	w := &world{t: t, table: tabletest.New(), now: time.Now().Truncate(time.Second), leads: true}
	w.domains = domain.New(tabletest.New(), nil)
	expect.OK(t, w.domains.Begin("https://sho.rt"))
	for _, host := range hosts {
		w.add(host)
	}
	w.authority = &fakeAuthority{refuses: make(map[string]error), valid: 90 * 24 * time.Hour, now: func() time.Time { return w.now }}
	w.start("")
	return w
}

func (w *world) add(host string, aliases ...string) {
	w.t.Helper()
	expect.OK(w.t, expect.Err(w.domains.Add(account.Caller{}, domain.Domain{Host: host, Aliases: aliases}, engine.TargetPolicy{})))
}

// start begins a process, with the rows that the last one has left.
func (w *world) start(main string) {
	w.t.Helper()
	w.kept = certificate.New(w.table, nil)
	expect.OK(w.t, w.kept.Changed())
	w.source = &Source{}
	w.source.Use(Names{Main: main, Domains: w.domains, Default: domain.CertificateACME}, w.kept)
	w.orderer = New(Options{
		Source: w.source, Authority: w.authority, Reach: &Reach{Off: true}, Leads: func() bool { return w.leads }, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Now: func() time.Time { return w.now }, JitterFactor: func() float64 { return 0 },
	})
}

// look looks until nothing more begins, and waits for the attempts.
func (w *world) look() {
	for before := -1; before != w.authority.count(); {
		before = w.authority.count()
		w.orderer.look(w.t.Context())
		w.orderer.working.Wait()
	}
}

// greet returns what a handshake for a name gets.
func (w *world) greet(name string) *tls.Certificate {
	w.t.Helper()
	c, err := w.source.Certificate(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: []string{"http/1.1"}})
	expect.That(w.t, err == nil || errors.Is(err, errNoCertificate), "%s: %v", name, err)
	return c
}

func TestAHandshakeNeitherWaitsForAnOrderNorBeginsOne(t *testing.T) {
	w := newWorld(t, "b.test")
	for i := range 1000 {
		got := w.greet(fmt.Sprintf("sni-%d.example", i))
		expect.That(t, got == nil, "an unknown name has a certificate")
	}
	expect.That(t, w.greet("b.test") == nil && w.authority.count() == 0, "a handshake made %d orders", w.authority.count())
	w.look()
	expect.That(t, w.greet("B.TEST.") != nil && w.greet("c.test") == nil, "the registered name has no certificate")
	expect.Equal(t, w.authority.count(), 1, "orders")
	_, err := w.source.Certificate(&tls.ClientHelloInfo{ServerName: "sni.example", SupportedProtos: []string{acme.ALPNProto}})
	expect.That(t, err != nil, "a challenge that nobody made is answered")
}

func TestTwoOrdersRunAtOnceAndTenBeginInAnHour(t *testing.T) {
	var hosts []string
	for i := range 14 {
		hosts = append(hosts, fmt.Sprintf("h%02d.test", i))
	}
	w := newWorld(t, hosts...)
	w.look()
	expect.Equal(t, w.authority.count(), 10, "orders in the first hour")
	expect.That(t, w.authority.most <= 2, "%d orders ran at once", w.authority.most)
	w.now = w.now.Add(59 * time.Minute)
	w.start("") // a restart does not forget them
	w.look()
	expect.Equal(t, w.authority.count(), 10, "orders within an hour")
	w.now = w.now.Add(2 * time.Minute)
	w.look()
	expect.Equal(t, w.authority.count(), 14, "orders of all")
	w.now = w.now.Add(24 * time.Hour)
	w.look()
	expect.Equal(t, w.authority.count(), 14, "orders while all certificates are new")
}

func TestAHostThatFailsWaitsLongerAndKeepsNoOtherWaiting(t *testing.T) {
	w := newWorld(t, "a.test")
	w.authority.refuses["a.test"] = sentence("no such luck")
	began := w.now
	var waits []string
	for range 12 {
		before := w.authority.count()
		w.look()
		expect.Equal(t, w.authority.count(), before+1, "orders after %v", w.now.Sub(began))
		h := w.kept.Of("a.test")
		waits = append(waits, h.NextAt.Sub(h.TriedAt).String())
		w.now = h.NextAt.Add(-time.Second)
		w.start("") // a restart does not try sooner
		w.look()
		expect.Equal(t, w.authority.count(), before+1, "orders before the wait is over")
		w.now = h.NextAt
	}
	got, want := strings.Join(waits, " "), "2m0s 4m0s 8m0s 16m0s 32m0s 1h4m0s 2h8m0s 4h16m0s 8h32m0s 17h4m0s 24h0m0s 24h0m0s"
	expect.Equal(t, got, want, "waits")
	w.now = w.kept.Of("a.test").NextAt
	var others []string
	for i := range 10 {
		others = append(others, fmt.Sprintf("z%d.test", i))
		w.add(others[i])
	}
	w.look()
	for _, host := range others {
		expect.That(t, w.greet(host) != nil, "%s waits for the one that fails", host)
	}
	h := w.kept.Of("a.test")
	expect.That(t, h.Error == "no such luck" && h.Failures == 12, "kept %+v", h)
	delete(w.authority.refuses, "a.test")
	w.now = w.now.Add(time.Hour)
	w.look()
	h = w.kept.Of("a.test")
	expect.That(t, h.Error == "" && h.Failures == 0 && w.greet("a.test") != nil, "after a success: %+v", h)
}

func TestAnOrderCountsWhateverBecomesOfIt(t *testing.T) {
	var hosts []string
	for i := range 13 {
		hosts = append(hosts, fmt.Sprintf("h%02d.test", i))
	}
	w := newWorld(t, hosts...)
	for _, host := range hosts {
		w.authority.refuses[host] = errNoCertificate
	}
	w.look()
	expect.Equal(t, w.authority.count(), 10, "orders in the first hour")
	w.now = w.now.Add(59 * time.Minute)
	w.start("")
	w.look()
	expect.Equal(t, w.authority.count(), 10, "orders within an hour, after a restart")
}

func TestHostsThatFailLeavePlacesToNewOnes(t *testing.T) {
	var hosts []string
	for i := range 10 {
		hosts = append(hosts, fmt.Sprintf("h%02d.test", i))
	}
	w := newWorld(t, hosts...)
	for _, host := range hosts {
		w.authority.refuses[host] = errNoCertificate
	}
	w.look()
	w.now = w.now.Add(61 * time.Minute)
	w.look()
	expect.Equal(t, w.authority.count(), 18, "orders in the second hour")
	w.add("new.test")
	w.look()
	expect.That(t, w.greet("new.test") != nil && w.authority.count() == 19, "a new host waits for those that fail")
}

// TestAProcessThatEndsDuringAnOrderDoesNotOrderAgainAtOnce ends a process again and again while it orders.
func TestAProcessThatEndsDuringAnOrderDoesNotOrderAgainAtOnce(t *testing.T) {
	w := newWorld(t, "b.test")
	w.authority.held = make(chan struct{})
	interrupt := func() {
		w.start("")
		ctx, end := context.WithCancel(t.Context())
		before := w.authority.count()
		w.orderer.look(ctx)
		for w.orderer.isRunning("b.test") && w.authority.count() == before {
			time.Sleep(time.Millisecond)
		}
		end()
		w.orderer.working.Wait()
	}
	began := w.now
	for range 5 {
		interrupt()
	}
	expect.Equal(t, w.authority.count(), 1, "orders after 5 restarts")
	expect.That(t, len(w.table.Entries) == 0 && w.kept.Of("b.test").Error == "", "an order that has no end is in the audit log")
	for w.now.Sub(began) < time.Hour {
		w.now = w.now.Add(time.Minute)
		interrupt()
	}
	expect.Equal(t, w.authority.count(), 5, "orders in an hour of restarts") // after 0, 2, 6, 14 and 30 minutes
	close(w.authority.held)
	w.now = w.kept.Of("b.test").NextAt
	w.look()
	expect.That(t, w.greet("b.test") != nil && w.kept.Of("b.test").Failures == 0, "no certificate after the restarts")
}

func TestARestartAndAnotherNodeHaveTheCertificate(t *testing.T) {
	w := newWorld(t, "b.test")
	w.add("c.test", "www.c.test")
	w.look()
	first := w.greet("b.test")
	expect.That(t, first != nil && w.greet("www.c.test") != nil, "no certificate")
	w.start("")
	w.leads = false
	w.look()
	again := w.greet("b.test")
	expect.That(t, again != nil && bytes.Equal(again.Certificate[0], first.Certificate[0]), "another certificate after a restart")
	expect.Equal(t, w.authority.count(), 3, "orders")
	w.add("d.test")
	w.look()
	expect.Equal(t, w.authority.count(), 3, "orders of a node that does not lead")
	w.leads = true
	w.look()
	expect.Equal(t, w.authority.count(), 4, "orders of the new leader")
	expect.OK(t, w.kept.SetAccountKey([]byte("key")))
	faults := new(engine.Faults)
	expect.OK(t, certificate.Check(w.table, faults))
	found, n := faults.Found()
	expect.That(t, n == 0, "the check finds %v", found)
}

// TestAFullStoreIsNoReasonToHurry has a store that refuses writes for a day: an attempt needs one before the order.
func TestAFullStoreIsNoReasonToHurry(t *testing.T) {
	w := newWorld(t, "b.test", "c.test")
	w.look()
	expect.OK(t, w.domains.Remove(account.Caller{}, "c.test", func(context.Context, engine.Domain) (func(bool), error) { return func(bool) {}, nil }))
	w.add("d.test")
	w.table.Fails = engine.ErrReadOnly
	w.look()
	for range 24 * 60 {
		w.look()
		w.now = w.now.Add(time.Minute)
	}
	w.look() // the certificate of c.test is to go by now
	tries := strings.Count(w.log.String(), "no certificate; trying again")
	expect.That(t, tries == 10, "%d attempts in a day", tries) // after 0, 2, 6, 14, 30, 62, 126, 254, 510 and 1022 minutes
	expect.Equal(t, strings.Count(w.log.String(), "the store does not take"), 1, "warnings")
	expect.Equal(t, w.authority.count(), 2, "orders")
	h := w.orderer.Of("d.test")
	expect.That(t, h != nil && h.Failures == 10, "known: %+v", h)
	w.table.Fails = nil
	w.now = h.NextAt
	w.look()
	expect.That(t, w.greet("d.test") != nil && w.orderer.Of("d.test").Failures == 0, "no certificate from a store that takes writes")
	w.table.Fails = engine.ErrReadOnly
	w.add("e.test")
	w.look()
	expect.Equal(t, strings.Count(w.log.String(), "the store does not take"), 2, "warnings of another time")
}

func TestTheCertificateOfARemovedDomainGoes(t *testing.T) {
	w := newWorld(t, "b.test", "c.test")
	w.look()
	err := w.domains.Remove(account.Caller{}, "b.test", func(context.Context, engine.Domain) (func(bool), error) { return func(bool) {}, nil })
	expect.OK(t, err)
	expect.That(t, w.greet("b.test") == nil && w.greet("c.test") != nil, "at once")
	edge := &Source{}
	edge.Use(Names{Domains: w.domains, Every: true}, w.kept)
	c, err := edge.Certificate(&tls.ClientHelloInfo{ServerName: "b.test"})
	expect.That(t, c == nil && err == nil, "an edge has it: %v", err)
	w.look()
	w.now = w.now.Add(24*time.Hour - time.Second)
	w.look()
	expect.That(t, w.kept.Of("b.test") != nil, "its key goes within a day")
	w.now = w.now.Add(time.Second)
	w.look()
	expect.That(t, w.kept.Of("b.test") == nil && w.kept.Of("c.test") != nil, "its key is kept")
	_, err = w.domains.Edit(account.Caller{}, "c.test", engine.TargetPolicy{}, func(d *domain.Domain) error { d.Certificate = domain.CertificateNone; return nil })
	expect.OK(t, err)
	w.look()
	w.now = w.now.Add(24 * time.Hour)
	w.look()
	expect.That(t, w.kept.Of("c.test") == nil && w.greet("c.test") == nil, "a domain that wants none has a certificate")
}

// TestNodesWithOtherSettingsKeepEachOthersCertificates has a node lead that wants none of them.
func TestNodesWithOtherSettingsKeepEachOthersCertificates(t *testing.T) {
	w := newWorld(t, "b.test")
	w.start("a.test")
	w.look()
	expect.That(t, w.greet("a.test") != nil && w.greet("b.test") != nil, "no certificate")
	w.start("")
	w.source.names.Default = domain.CertificateFiles
	for range 5 {
		w.look()
		w.now = w.now.Add(12 * time.Hour)
	}
	expect.That(t, w.kept.Of("a.test") != nil && w.kept.Of("b.test") != nil, "the certificates of another node are gone")
	edge := &Source{}
	edge.Use(Names{Domains: w.domains, Every: true}, w.kept)
	c, err := edge.Certificate(&tls.ClientHelloInfo{ServerName: "a.test"})
	expect.That(t, err == nil && c != nil, "an edge does not have that of the server: %v", err)
	w.now = w.now.Add(90 * 24 * time.Hour)
	w.look()
	w.now = w.now.Add(24 * time.Hour)
	w.look()
	expect.That(t, w.kept.Of("a.test") == nil && w.kept.Of("b.test") != nil, "that of a server that has expired stays, or that of a domain goes")
}

func TestRenewalsBeginAtAThirdAndAreSpread(t *testing.T) {
	const day = 24 * time.Hour
	now, at := time.Now(), map[time.Time]bool{}
	for i := range 50 {
		chain, key, err := issue("b.test", now, 90*day)
		expect.OK(t, err)
		pair, err := tls.X509KeyPair(chain, key)
		expect.OK(t, err)
		h := &certificate.Host{Name: "b.test", Certificate: &pair}
		renewal := due(h)
		left := pair.Leaf.NotAfter.Sub(renewal)
		expect.That(t, left >= 30*day && left <= 33*day, "certificate %d is renewed %v before its end", i, left)
		at[renewal] = true
	}
	expect.That(t, len(at) > 40, "50 renewals begin at %d times", len(at))
	w := newWorld(t, "b.test")
	w.look()
	first := w.greet("b.test")
	w.now = w.now.Add(56 * day)
	w.look()
	expect.Equal(t, w.authority.count(), 1, "orders too soon")
	w.now = w.now.Add(5 * day)
	w.look()
	expect.That(t, w.authority.count() == 2 && !bytes.Equal(w.greet("b.test").Certificate[0], first.Certificate[0]), "it was not renewed")
	w.now = w.now.Add(61 * day)
	w.authority.refuses["b.test"] = sentence("no")
	w.look()
	expect.That(t, w.kept.Of("b.test").Error == "no" && w.greet("b.test") != nil, "a failed renewal takes the certificate away")
}

func TestTheAuditLogHasEachAttemptWithoutKeys(t *testing.T) {
	w := newWorld(t, "b.test")
	w.authority.refuses["b.test"] = &acme.AuthorizationError{Errors: []error{&acme.Error{Detail: "no A record"}}}
	w.look()
	delete(w.authority.refuses, "b.test")
	w.now = w.now.Add(time.Hour)
	w.look()
	var said []string
	for _, e := range w.table.Entries {
		said = append(said, e.Changes[1].After[:12])
		expect.That(t, !strings.Contains(fmt.Sprint(*e), "PRIVATE"), "a key is in the audit log: %v", e)
	}
	expect.Equal(t, strings.Join(said, ", "), "failed: the , valid until ", "entries")
	expect.That(t, strings.Contains(w.table.Entries[0].Changes[1].After, "the authority says: no A record"), "got %+v", w.table.Entries[0])
	expect.That(t, !strings.Contains(w.log.String(), "PRIVATE"), "a key is in the log")
}

// TestChallengesAreAnsweredByAllWhoHaveTheRows answers by other memory than the one that expects.
func TestChallengesAreAnsweredByAllWhoHaveTheRows(t *testing.T) {
	w := newWorld(t, "b.test")
	key, err := newKey()
	expect.OK(t, err)
	c, err := newChallenge(key, "b.test", "token")
	expect.OK(t, err)
	expect.OK(t, w.kept.Expect(c))
	w.start("")
	text, ok := w.kept.Answer("b.test", "token")
	expect.That(t, ok && text == "token."+thumbprint(t, key), "got %q", text)
	_, ok = w.kept.Answer("c.test", "token")
	expect.That(t, !ok, "another host answers")
	proof, err := w.source.Certificate(&tls.ClientHelloInfo{ServerName: "b.test", SupportedProtos: []string{acme.ALPNProto}})
	expect.That(t, err == nil && proof != nil, "no answer to tls-alpn-01: %v", err)
	w.look() // the next leader ends what is left
	_, ok = w.kept.Answer("b.test", "token")
	expect.That(t, !ok && w.kept.Proof("b.test") == nil, "the challenge of an earlier leader is still answered")
}

func thumbprint(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	text, err := acme.JWKThumbprint(&key.PublicKey)
	expect.OK(t, err)
	return text
}
