package certs

import (
	"context"
	"crypto/tls"

	"golang.org/x/crypto/acme"
)

// A Source is where the certificate comes from.
type Source interface {
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) // may be called from any goroutine, and does not block
	Run(ctx context.Context) error                              // keeps it up to date
	State() State                                               // costs a few atomic reads; may be called from any goroutine

	// Challenged reports whether an authority may ask for a challenge in a handshake.
	Challenged() bool

	// Prepare looks for a new certificate, and returns a function that puts it in force. If it returns
	// an error, nothing has changed.
	Prepare() (commit func(), err error)
}

// TLSConfig is TLS 1.2 and 1.3 with forward secrecy and authenticated encryption (RFC 9325), for
// HTTP/1.1: fasthttp speaks no other, so h2 is not offered, which autocert's own configuration
// does.
func TLSConfig(from Source) *tls.Config {
	c := &tls.Config{
		GetCertificate: from.Certificate,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are all good
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
	if from.Challenged() {
		c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	}
	return c
}
