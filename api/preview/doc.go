// Package preview writes what a preview page says of a link: where it leads, and since when it exists.
// It knows package page and what redirect.Peek returns; it does no I/O and knows no HTTP library.
// The handler of GET /{code}+ calls it.
//
// A preview shows the target as it is sent, the host in punycode. The host in its own letters stands
// beside it only if they cannot be confused with others (lookalike.go). After the host, what is not
// ASCII is shown escaped, since some of it changes the order in which text is read.
package preview
