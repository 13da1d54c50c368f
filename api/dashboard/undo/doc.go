// Package undo takes back what was done to a link: the page of the trash has those that were deleted, and a notice
// after a deletion, an edit or a disabling offers to take that back. It knows how pages are shown and what calls do,
// and neither how links are edited nor how they are listed.
//
// Files, leaves first: trash.go, edit.go.
package undo
