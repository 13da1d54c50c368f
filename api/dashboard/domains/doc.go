// Package domains is the pages about domains, which only admins see: a table, a form that adds one, and the page of
// each, where it is changed and removed. It has no rule of a domain: a form becomes the JSON body of the API's call.
//
// Files, leaves first: form.go, pages.go.
package domains
