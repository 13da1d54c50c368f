// Package certtest makes certificates for tests: an authority, and files of a certificate and its
// key. It knows nothing of ours. Only tests may import it.
package certtest
