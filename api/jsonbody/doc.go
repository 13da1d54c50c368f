// Package jsonbody reads JSON bodies strictly: objects, arrays and lines of objects, and their
// values. It knows no particular field and no HTTP library: its callers pass a table of readers.
// Every call of the API that has a body reads it here.
//
// A body is one object of at most 64 fields. Unknown fields, fields that come twice and fields of a
// wrong type are errors of those fields, and all of them are returned at once. Half a surrogate
// pair is malformed, because encoding/json would replace it with another character. A JSON value
// that is not an object is invalid, not malformed, because it is well-formed JSON.
//
// # Plain JSON
//
// Nearly all bodies are plain: objects, or an array of them, whose values are strings, whole numbers,
// true, false, null or arrays of strings. They are read in one pass (plain.go), which aliases the body
// and allocates only the strings that a reader keeps. Whatever else comes, well-formed or not, is
// declined before any reader is called, and read with encoding/json from its beginning. So the grammar's
// errors come from one parser, and those of fields from Read, which both ways share: a field is known
// to both or to neither. FuzzPlainJSONIsWhatTheGeneralParserReads holds both to the same bytes.
// An array with one item that is not plain is split with encoding/json as a whole; each of its plain
// items is still read in one pass.
//
// encoding/json/v2 was not taken: Go 1.26 has it under GOEXPERIMENT only. It should be measured here
// when it is no experiment any more.
package jsonbody
