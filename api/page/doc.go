// Package page is the HTML that people see: one skeleton, one look, and the table of error pages.
// It knows outcomes (redirect) and problems, and no HTTP library: it returns bytes and a policy to
// send. The reference page (docs) and previews are built with it; package api sends its pages.
//
// Pages have no script, no picture and nothing from other servers, and one style, which the policy
// allows by its hash. Their look is that of the reference page: BaseStyle is in both.
//
// An error page is a row of errorTexts. Clients that prefer JSON (PrefersJSON) get the same row as
// a problem. Error pages are made once, when the server starts.
//
// Rejected: html/template. It calls methods by names that are known only at run time, so the linker
// must keep every exported method of every type: the binary was 39.6 MB instead of 31.2. There is
// little to escape, three values of a link and a document of our own; Format escapes every string,
// and a test checks that.
package page
