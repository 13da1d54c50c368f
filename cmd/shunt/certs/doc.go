// Package certs keeps the certificate of the public address up to date: from two files, or, at an edge, from an ACME
// authority (package orders gets those of a server and of its domains). It knows TLS and ACME. It knows nothing of
// settings, addresses or the API. Serve chooses a Source, runs it, and puts TLSConfig under its listener.
//
// A handshake never waits: each source holds the current certificate in an atomic pointer, and Run
// replaces it in the background.
package certs
