// Package docs has the OpenAPI document of the API, its 3.0 form, and the reference page made from it.
// It knows package page and the tables of package visitor, and no HTTP library: it returns bytes.
// The front door serves them; tests of package api hold every answer to the document.
//
// # The document
//
// openapi.json describes the API for programs. It is written by hand, because what is worth reading in
// it, the descriptions and examples, is nowhere else; what is in the code too (paths, scopes, fields,
// limits, problems) is held to the code by tests. In tests a watch stands around the HTTP servers
// (api/watch_test.go): each request that is accepted and each answer, of whatever test, is held to the
// document by kin-openapi, and what is not in it fails the test that met it. So a field, status,
// header field, problem or parameter cannot be added, or dropped, on one side only.
//
// Rejected: to generate it from the handlers, whose types say little of what they mean; to have
// handlers read it, which would make a wrong document a wrong server.
//
// # The page
//
// The reference page (page.go) is made from the document when it is first asked for: reference.go
// chooses what is shown, openapidoc.go reads the document in its own order. It lists the words by which
// bots are known from the table that decides it (botdocs.go). It has no script, and one style.
//
// # Version 3.0
//
// Clients are generated from the document, so it keeps to what generators read: each object and enum
// is a component, since they name types after components; a choice that may be null is anyOf a
// component and null, since a constant cannot be null; numbers have a width; only objects of requests
// are closed, since some clients refuse fields that a closed object does not have, and answers may
// gain fields. Many tools read OpenAPI 3.0 only, so openapi30.go makes that version of it. The watch
// holds traffic to both. make openapi-clients generates clients for Go and TypeScript and uses them.
//
// Rejected: a document of 3.0 alone, since newer tools read 3.1 better; two documents written by hand,
// which would differ.
package docs
