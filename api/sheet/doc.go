// Package sheet reads the links that people bring from a spreadsheet: CSV with a line of headings, or
// just one address on each line. The page that makes many links and the command use it, so that both
// read the same text alike. It knows no rule of a link: a row becomes an item of POST /shorten/bulk.
//
// # Form
//
// The first line that is not blank decides. If one of its cells is a known heading, the text is CSV
// (RFC 4180, quotation marks included), and the separator is the one of comma, semicolon and tab that
// finds the most known headings: spreadsheets of Europe write semicolons, and a copied range has tabs.
// Otherwise each line is an address as it stands, because an address may have commas and semicolons.
// A byte order mark, CR LF and blank lines are taken.
//
// # Rows
//
// encoding/csv reads each row by itself. So a damaged row is one refusal with its line and stops no
// other, a row keeps its text to be corrected, and a row of a million separators takes the memory of
// maxRowBytes at most. A quotation mark that is never closed takes the rest of the text with it, as in
// every reader of CSV.
//
// A heading that is not known is an error: to ignore the column would make links without something
// that their owner believes to be there.
//
// Files, leaves first: column.go, row.go, sheet.go, results.go, table.go.
package sheet
