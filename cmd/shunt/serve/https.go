package serve

import (
	"crypto/tls"

	"shunt/api"
	"shunt/api/admin"
	"shunt/api/public"
	"shunt/cmd/shunt/certs"
)

// chooseCertificates opens the source of certificates, if there is one. It writes nothing.
func (s *server) chooseCertificates() (err error) {
	switch {
	case s.cfg.https.certFile != "":
		s.certs, err = certs.OpenFiles(s.cfg.https.pair(), s.say.Log)
	case s.cfg.data.ACMEDomain != "":
		s.certs = certs.NewACME(certs.ACMEOptions{
			Domain: s.cfg.data.ACMEDomain, Directory: s.cfg.https.acmeDirectory, Email: s.cfg.https.acmeEmail,
			AcceptTerms: s.cfg.https.acmeTerms, DataDir: s.cfg.data.Dir,
		}, s.say.Log)
	default:
		return nil
	}
	s.cfg.data.Secure = true
	return err
}

func (s *server) scheme() string {
	if s.certs != nil {
		return "https://"
	}
	return "http://"
}

// speakHTTPS puts TLS under the public address, and makes o's answers fit.
func (s *server) speakHTTPS(o *api.Options) {
	if s.certs == nil {
		return
	}
	s.parts.Run("certificate", s.certs.Run)
	o.Metrics.Certificate = certificateFigures(s.certs)
	s.public = tls.NewListener(s.public, certs.TLSConfig(s.certs))
	o.HSTSMaxAge = s.cfg.https.hstsMaxAge
	if s.redirects == nil {
		return
	}
	o.MaxConnections = max(1, o.MaxConnections-public.RedirectConnections)
	if a, ok := s.certs.(*certs.ACME); ok {
		o.ACMEChallenges = a.Challenges()
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
