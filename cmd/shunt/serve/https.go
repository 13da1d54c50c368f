package serve

import (
	"crypto/tls"
	"strings"

	"shunt/api"
	"shunt/api/admin"
	"shunt/api/domain"
	"shunt/api/domains"
	"shunt/api/public"
	"shunt/cmd/shunt/certs"
	"shunt/cmd/shunt/orders"
)

// chooseCertificates opens the source of certificates, if there is one. It writes nothing.
func (s *server) chooseCertificates() error {
	if len(s.cfg.https.certFiles) == 0 && s.cfg.data.ACMEDomain == "" {
		return nil
	}
	source := &orders.Source{}
	for _, pair := range s.cfg.https.pairs() {
		f, err := certs.OpenFiles(pair, s.say.Log)
		if err != nil {
			return err
		}
		source.Files = append(source.Files, f)
	}
	if s.cfg.data.ACMEDomain != "" && s.cfg.edges() {
		source.Own = certs.NewACME(certs.ACMEOptions{
			Domain: s.cfg.data.ACMEDomain, Directory: s.cfg.https.acmeDirectory, Email: s.cfg.https.acmeEmail,
			AcceptTerms: s.cfg.https.acmeTerms, DataDir: s.cfg.data.Dir,
		}, s.say.Log)
	}
	s.certs, s.cfg.data.Secure = source, true
	return nil
}

// edges reports whether the settings are those of an edge.
func (cfg *serveConfig) edges() bool {
	return cfg.edge.Of != "" || cfg.node != nil && cfg.node.OfEdge()
}

func (s *server) scheme() string {
	if s.certs != nil {
		return "https://"
	}
	return "http://"
}

// speakHTTPS puts TLS under the public address, and makes o's answers fit.
func (s *server) speakHTTPS(o *api.Options) {
	if err := s.core.Certificates.Changed(); err != nil { // the others serve
		s.say.Log.Error("a certificate in the store cannot be read", "cause", err)
	}
	reporter := &orders.Reporter{Source: s.certs, Orderer: s.newOrderer(), Reach: s.cfg.https.reach(), Certificates: s.core.Certificates}
	s.orderer = reporter.Orderer
	o.Certificates = domains.Certificates{Of: reporter.Certificate, Check: reporter.Check, Nonce: s.core.Certificates.Answer}
	if s.certs == nil {
		return
	}
	s.parts.Run("certificate", s.certs.Run)
	o.Metrics.Certificate = certificateFigures(s.certs)
	if !s.cfg.edges() { // whose writer has the figures
		o.Metrics.Domains = reporter.Figures
	}
	s.public = tls.NewListener(s.public, certs.TLSConfig(s.certs))
	o.HSTSMaxAge = s.cfg.https.hstsMaxAge
	o.ACMEChallenges = s.certs.Challenges(s.redirects != nil)
	if s.redirects != nil {
		o.MaxConnections = max(1, o.MaxConnections-public.RedirectConnections)
	}
}

// newOrderer gives the source the certificates that the store has, and returns what orders them; nil: this server asks
// no authority, or is an edge.
func (s *server) newOrderer() *orders.Orderer {
	main := strings.ToLower(s.cfg.data.ACMEDomain)
	switch {
	case s.certs == nil:
		return nil
	case s.cfg.edges():
		s.certs.Use(orders.Names{Domains: s.core.Domains, Every: true}, s.core.Certificates)
		return nil
	case !s.cfg.https.acmeTerms:
		s.certs.Use(orders.Names{Domains: s.core.Domains, Default: domain.CertificateFiles}, s.core.Certificates)
		return nil
	}
	names := orders.Names{Main: main, Domains: s.core.Domains, Default: domain.CertificateACME}
	if main == "" {
		names.Default = domain.CertificateFiles
	}
	s.certs.Use(names, s.core.Certificates)
	reach := s.cfg.https.reach()
	leads := func() bool { return true }
	if s.node != nil {
		leads = s.node.Leads
	}
	return orders.New(orders.Options{
		Source: s.certs, Reach: reach, Leads: leads, Log: s.say.Log, Address: s.cfg.https.acmeDirectory,
		Authority: &orders.ACME{Directory: s.cfg.https.acmeDirectory, Email: s.cfg.https.acmeEmail, Certificates: s.core.Certificates, Reach: reach},
	})
}

// order begins to get certificates. The domains must have been read.
func (s *server) order() {
	if s.orderer != nil {
		s.parts.Run("orders of certificates", s.orderer.Run)
	}
}

// certificateFigures returns the state of the certificate of source.
func certificateFigures(source certs.Source) func() admin.Certificate {
	return func() admin.Certificate {
		state := source.State()
		c := admin.Certificate{NotAfter: state.NotAfter, ACME: state.ACME, Failures: state.Failures}
		switch {
		case state.Failing:
			c.State = admin.ACMEFailing
		case !state.NotAfter.IsZero():
			c.State = admin.ACMEValid
		}
		return c
	}
}
