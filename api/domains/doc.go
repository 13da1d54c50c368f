// Package domains has the calls on domains: what each does, for programs and for pages, and how it is answered.
//
// Files, leaves first: certificate.go, calls.go, http.go.
package domains
