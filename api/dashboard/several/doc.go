// Package several is what pages know of several links at once: how a form names them, and how a change of them is
// taken back. What can be done with them is in package dashboard, and what that does to each link in ops.
//
// Files, leaves first: chosen.go, undo.go.
package several
