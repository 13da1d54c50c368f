// Package console writes what people read: the lines of a server and of long commands, tables,
// sizes, and errors in plain words. It knows terminals and the errors of the standard library. It
// knows no settings, and nothing of links or stores. All commands print through it.
package console
