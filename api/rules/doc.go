// Package rules has the rules and the split of a link in the words of the API: it reads them from JSON, writes them,
// and says which of them can never count. It knows the form that the engine keeps (package extras), and no link.
//
// A condition has one form in the engine, so that what is written in several ways is one condition: a network may be an
// address, a CIDR or have wildcards, a time may have any zone, and letters any case. What is shown is that form.
//
// Warnings are about rules that are allowed, and send nobody anywhere (warning.go).
//
// An error is of one field, named by its path: rules[1].conditions[0].match_value.
package rules
