// Package days reads and writes the hits by day of a link, as imports and exports have them: [{"day": "2026-03-01",
// "hits": 12}, …]. It knows JSON, and neither HTTP nor what a link is.
//
// A day is one of the time zone of the store. Nobody knows the visitors of such a day, whom a file of another server
// cannot have. An import may have days in any order, each once; an export has them in their order.
package days
