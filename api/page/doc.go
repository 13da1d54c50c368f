// Package page is the HTML that people see: one skeleton, one look, and the table of error pages.
// It knows outcomes (redirect) and problems, and no HTTP library: it returns bytes and a policy to send.
// The reference page (docs) and previews are built with it; front doors send what it returns.
//
// Pages have no script and no picture, nothing from elsewhere, and one style, which the policy names
// by its hash. Their look is that of the reference page: BaseStyle is in both.
//
// An error page is a row of errorTexts. Clients that prefer JSON (PrefersJSON) get the same row as a
// problem. Error pages are made once, when the server starts.
//
// Rejected: html/template. It calls methods by names that only it knows, so that the linker keeps
// every method of everything: the binary was 39.6 MB instead of 31.2. What it would escape is three
// values of a link, and a document of our own; Format escapes every string, and a test looks.
package page
