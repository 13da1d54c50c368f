// Package expect says in one line what a test expects. It knows nothing of ours; only tests use it, those of every
// room.
//
// Lines holds cases in a file to what a test finds. Each other function takes, after the values, what they are of:
// nothing, a text, or a format with its arguments. A name that begins with Must ends the test; after the others the
// test goes on, so that one run shows all that is wrong.
//
// Files, leaves first: expect.go, lines.go.
package expect
