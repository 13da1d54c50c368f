// Package linkflags is the one table of the flags that set a link's fields.
// It knows the API's client and how flags are read, and no command.
// add, edit and show follow from the table: a new field of a link is one row here.
package linkflags
