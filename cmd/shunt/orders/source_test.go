package orders

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/domains"
	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// fileFor returns a certificate in files for a host.
func fileFor(t *testing.T, host string) *certs.Files {
	t.Helper()
	chain, key, err := issue(host, time.Now(), time.Hour)
	expect.OK(t, err)
	files := certtest.NewFolder(t, chain, key)
	f, err := certs.OpenFiles(certs.Pair{Cert: files.Cert, Key: files.Key}, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	return f
}

// ownFor returns the certificate of an edge for a host, which an earlier process got.
func ownFor(t *testing.T, host string) *certs.ACME {
	t.Helper()
	chain, key, err := issue(host, time.Now(), time.Hour)
	expect.OK(t, err)
	dir := t.TempDir()
	expect.OK(t, os.Mkdir(filepath.Join(dir, "acme"), 0o700))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "acme", host), append(key, chain...), 0o600))
	own := certs.NewACME(certs.ACMEOptions{Domain: host, Directory: "http://127.0.0.1:1/", AcceptTerms: true, DataDir: dir}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = own.Run(ctx) }()
	for deadline := time.Now().Add(10 * time.Second); own.State().NotAfter.IsZero() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	return own
}

func TestAnEdgeServesItsOwnCertificateAndThoseOfItsWriter(t *testing.T) {
	w := newWorld(t, "b.test", "c.test")
	w.authority.refuses["c.test"] = errNoCertificate
	w.look()
	w.source = &Source{Own: ownFor(t, "edge.test")}
	w.source.Use(Names{Domains: w.domains, Every: true}, w.kept)
	for name, want := range map[string]string{"edge.test": "edge.test", "EDGE.test.": "edge.test", "": "edge.test", "b.test": "b.test"} {
		c := w.greet(name)
		expect.That(t, c != nil && c.Leaf.VerifyHostname(want) == nil, "%q does not get the certificate of %s", name, want)
	}
	c, err := w.source.Certificate(&tls.ClientHelloInfo{ServerName: "unknown.test"})
	expect.That(t, c == nil && err == nil, "an unknown name: got %v, want an unrecognized name", err)
	_, err = w.source.Certificate(&tls.ClientHelloInfo{ServerName: "c.test"})
	expect.That(t, err == errNoCertificate, "a domain without one: got %v", err)
}

func TestFilesServeTheNamesThatTheyCover(t *testing.T) {
	w := newWorld(t, "b.test", "c.test", "d.test")
	w.source.Files = []*certs.Files{fileFor(t, "sho.rt"), fileFor(t, "b.test")}
	w.source.names.Default = domain.CertificateFiles
	for name, want := range map[string]*certs.Files{"sho.rt": w.source.Files[0], "b.test": w.source.Files[1], "B.test.": w.source.Files[1], "": w.source.Files[0], "c.test": w.source.Files[0]} {
		expect.That(t, w.greet(name) == want.Current(), "%q gets another certificate", name)
	}
	r := &Reporter{Source: w.source, Certificates: w.kept}
	for host, want := range map[string]string{"b.test": domains.CertificateValid, "c.test": domains.CertificateFailing} {
		got := r.Certificate(w.domains.At(host))
		expect.That(t, got.State == want && got.From == domain.CertificateFiles, "%s: got %+v", host, got)
	}
	w.look()
	expect.Equal(t, w.authority.count(), 0, "orders for domains with files")
}

func TestADomainSaysWhyItHasNoCertificate(t *testing.T) {
	w := newWorld(t, "b.test")
	w.add("c.test", "www.c.test")
	r := &Reporter{Source: w.source, Orderer: w.orderer, Certificates: w.kept}
	got := r.Certificate(w.domains.At("c.test"))
	expect.That(t, got.State == domains.CertificateWaiting && got.ExpiresAt == nil, "before: %+v", got)
	w.authority.refuses["www.c.test"] = &acme.Error{ProblemType: "urn:ietf:params:acme:error:caa", Detail: "CAA forbids it"}
	w.look()
	got = r.Certificate(w.domains.At("c.test"))
	expect.That(t, got.State == domains.CertificateFailing && got.Error == "the authority says: CAA forbids it" && got.NextAttemptAt != nil && got.Failures == 1, "an alias fails: %+v", got)
	got = r.Certificate(w.domains.At("b.test"))
	expect.That(t, got.State == domains.CertificateValid && got.ExpiresAt != nil && got.Error == "", "the other: %+v", got)
	figures := r.Figures()
	expect.That(t, len(figures) == 2 && figures[0].Host == "b.test" && figures[1].Failures == 1 && figures[1].NotAfter.IsZero(), "figures: %+v", figures)
	r.Orderer = nil
	got = r.Certificate(w.domains.At("b.test"))
	expect.That(t, got.State == domains.CertificateFailing && got.Error != "", "a server that asks nobody: %+v", got)
}

func TestACheckEndsTheWaitOfAHostThatLeadsHere(t *testing.T) {
	w := newWorld(t, "b.test")
	w.authority.refuses["b.test"] = errNoCertificate
	w.look()
	w.orderer.Hurry("b.test")
	delete(w.authority.refuses, "b.test")
	w.look()
	expect.That(t, w.greet("b.test") != nil && w.authority.count() == 2, "it waits")
	w.orderer.Hurry("b.test")
	w.look()
	expect.Equal(t, w.authority.count(), 2, "orders for a certificate that is well")
}

// TestACheckDuringAnOrderOrdersNothing hurries while an attempt runs, which a check that leads to a wait does.
func TestACheckDuringAnOrderOrdersNothing(t *testing.T) {
	w := newWorld(t, "b.test")
	w.authority.held = make(chan struct{})
	w.orderer.look(t.Context())
	w.orderer.Hurry("b.test")
	close(w.authority.held)
	w.orderer.working.Wait()
	w.look()
	expect.That(t, w.greet("b.test") != nil && w.authority.count() == 1, "%d orders", w.authority.count())

	w.now = w.now.Add(365 * 24 * time.Hour)
	w.authority.refuses["b.test"] = errNoCertificate
	w.look()
	w.leads = false
	w.orderer.Hurry("b.test") // its node does not lead, and the one that does gets the certificate
	chain, key, err := issue("b.test", w.now, 90*24*time.Hour)
	expect.OK(t, err)
	expect.OK(t, w.kept.Tried(certificate.Host{Name: "b.test", Chain: chain, Key: key, TriedAt: w.now}))
	w.leads = true
	before := w.authority.count()
	w.look()
	expect.Equal(t, w.authority.count(), before, "orders for a certificate that another node got")
}
