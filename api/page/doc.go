// Package page is the HTML that people see: one skeleton, one look, and the table of error pages.
// It knows outcomes (redirect) and problems, and no HTTP library: it returns bytes and a policy to
// send. The reference page (docs) and previews are built with it; package api sends its pages.
//
// Pages have no script, no picture but the logo of the brand, nothing from other servers, and one
// style, which the policy allows by its hash. Their look is that of the dashboard and of the
// reference page: BaseStyle is in all of them.
//
// An error page is a row of errorTexts. Clients that prefer JSON (PrefersJSON) get the same row as
// a problem. Error pages are made once, when the server starts.
//
// Rejected: html/template, which the dashboard and the reference page use. These few pages are made once or have three
// values of a link, so Format, which escapes every string, is enough; a test checks that.
package page
