// Package jsonbody reads JSON bodies strictly: objects, arrays and lines of objects, and their
// values. It knows no particular field and no HTTP library: its callers pass a table of readers.
// Every call of the API that has a body reads it here.
//
// A body is one object of at most 64 fields. Unknown fields, fields that come twice and fields of a
// wrong type are errors of those fields, and all of them are returned at once. Half a surrogate
// pair is malformed, because encoding/json would replace it with another character. A JSON value
// that is not an object is invalid, not malformed, because it is well-formed JSON.
package jsonbody
