// Package texts has the fields of a link that are text for people, in one table. Whatever reads, bounds, stores, finds
// or shows these fields follows it: calls, forms, sheets, files of other systems, and records.
package texts
