// Package jsonbody reads JSON bodies strictly: objects, arrays and lines of objects, and their
// values. It knows no particular field and no HTTP library: its callers pass a table of readers.
// Every call of the API that has a body reads it here.
//
// A body is one object of at most 64 fields. Unknown fields, fields that come twice and fields of a
// wrong type are errors of those fields, and all of them are returned at once. Half a surrogate
// pair is malformed, because encoding/json would replace it with another character. A JSON value
// that is not an object is invalid, not malformed, because it is well-formed JSON.
//
// A body is first found well-formed, then taken apart (parts.go), so what takes it apart knows nothing of wrong
// JSON. encoding/json alone says what is wrong. Nothing is copied but the strings that a reader keeps.
//
// # Decisions
//
//   - Nearly all bodies are plain (plain.go), which is known in a fifth of the time that json.Valid takes.
//     With json.Valid alone a bulk item that has only a url takes 0.4 µs more of about 6, a line of an export
//     3 µs more of about 8: over the limit of 1.10.
//   - One pass that checked plain objects and took them apart, with readers of its own for values, took twice the
//     code. In 20 pairs of compare --writes create,bulk,import an item of a bulk costs 1.03 times as much as with it,
//     a line of an import 1.04, a create as much.
//   - encoding/json/v2: Go 1.26 has it under GOEXPERIMENT only. It should be measured here when it is no
//     experiment any more.
package jsonbody
