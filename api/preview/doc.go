// Package preview writes the preview page of a link: where the link leads, and since when it
// exists. It knows package page and what redirect.Peek returns; it does no I/O and knows no HTTP
// library. The handler of GET /{code}+ calls it.
//
// A preview shows the target as it is stored, with the host in punycode. It also shows the host in
// its own letters, but only if they cannot be confused with others (lookalike.go). After the host,
// characters outside ASCII are shown escaped, because some of them change the order in which text
// is read.
package preview
