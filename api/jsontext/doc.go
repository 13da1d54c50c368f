// Package jsontext appends JSON to bytes: strings, arrays of strings and times, as encoding/json writes
// them without escapes of HTML. It knows nothing of ours. Answers are appended with it, because
// encoding/json needs reflection for each of them, and makes garbage.
package jsontext
