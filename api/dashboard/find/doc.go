// Package find is what the page of links is asked for: words, filters and an order, and which page of the list. All of
// it is in the address, so that each state of the list can be kept as a bookmark, be sent to somebody, and be saved as
// a filter. It asks for nothing itself: its Pairs are the parameters of a call.
//
// Files, leaves first: search.go, pager.go.
package find
