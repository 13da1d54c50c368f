// Package docs has the OpenAPI document of the API, its 3.0 form, and the reference page made from
// it. It knows packages page and words, and the tables of package visitor, and no HTTP library: it
// returns bytes. Package api serves them; its tests check every answer against the document.
//
// # The document
//
// openapi.json describes the API for programs. It is written by hand, because its most useful
// parts, the descriptions and examples, are nowhere else. Tests compare the parts that the code has
// too (paths, scopes, fields, limits, problems) with the code. In tests a watch wraps the HTTP
// servers (api/watch_test.go): kin-openapi checks each accepted request and each answer of any test
// against the document, and a deviation fails the test in which it occurs. So a field, status,
// header field, problem or parameter cannot be added, or dropped, on one side only.
//
// Rejected: to generate the document from the handlers, because their types say little about
// meaning; to let handlers read it, because an error in the document would then be an error of the
// server.
//
// # The page
//
// The reference page (page.go, page.html) is made from the document at the first request: reference.go selects
// the parts to show, openapidoc.go reads the document in its own order. There is one for each
// language, with headings and labels in it around what the document has in English. The page lists the words
// that identify bots, from the table that classifies visitors. It has no script, and
// one style.
//
// # Version 3.0
//
// Clients are generated from the document, so it uses only what generators understand. Each object
// and enum is a component, because generators name types after components. A choice that may be
// null is anyOf a component and null, because a constant cannot be null. Numbers have a width. Only
// objects of requests are closed, because some clients refuse fields that a closed object does not
// have, and answers may gain fields. Many tools read only OpenAPI 3.0, so openapi30.go converts the
// document to that version. The watch checks traffic against both. make openapi-clients generates
// clients for Go and TypeScript and uses them.
//
// Rejected: a document in 3.0 alone, because newer tools read 3.1 better; two documents written by
// hand, because they would differ.
package docs
