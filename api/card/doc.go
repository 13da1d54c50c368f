// Package card is the card of a link: what chats and posts show of it, in place of what its target says of itself. It
// reads a card from JSON, writes it as JSON, and as the page that programs get which show previews of links. It knows
// the engine's Card, and neither who asks nor what else a link has.
//
// Whatever is in a card is text: the page has no mark-up of it, no script and no style, and loads nothing.
//
// Files, leaves first: json.go, page.go.
package card
