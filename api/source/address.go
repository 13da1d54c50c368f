package source

import (
	"net/url"
	"strings"
)

// An address is where a link was: a host, which may be unknown, and a code.
type address struct{ host, code string }

// isAddress reports whether a text is a short address and no code: with a scheme, or a host with a dot before a slash.
func isAddress(text string) bool {
	if strings.Contains(text, "://") {
		return true
	}
	host, _, ok := strings.Cut(text, "/")
	return ok && strings.Contains(host, ".")
}

// addressOf reads a code, or a short address: its path is percent-encoded, and what follows it does not matter.
func addressOf(text string) address {
	if !isAddress(text) {
		return address{code: strings.Trim(text, "/")}
	}
	if _, after, ok := strings.Cut(text, "://"); ok {
		text = after
	}
	host, path, _ := strings.Cut(text, "/")
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	return address{host: strings.ToLower(host), code: decoded(strings.Trim(path, "/"))}
}

// decoded returns a text without percent-encoding; one with a wrong one stands for itself.
func decoded(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
