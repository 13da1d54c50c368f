// Package source reads the links of files that people bring: an import by the command and one on the
// dashboard's page have the same sources. It knows files, and neither HTTP nor what a link is.
//
// A Source reads the records of a file one after the other, each a link or the reason why it is none.
// A record that is wrong never ends a file. The order is that in which links are to be made: exports
// have the newest link first, so they are read from the last line to the first, and then the lists of
// the new server have the same order. A record has a number for messages; how far an import has come
// is a number of records, since a source reads the same records again in the same order. Memory does
// not depend on the length of a file.
//
// The one format is lines of JSON. A new format is a Source of its own in a file here, and its place
// in Open, which tells formats apart by their content.
package source
