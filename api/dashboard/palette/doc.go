// Package palette finds the way to a page, an action or a link by words. It is a page of its own, /_/go, which works
// without script; with it, Ctrl+K shows what the page answers in a window over any other page. The page of keys, which
// says what each does, is here, too.
//
// Files, leaves first: places.go, page.go.
package palette
