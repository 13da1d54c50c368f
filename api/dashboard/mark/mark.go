// Package mark puts parameters into the query of a target as text: those of a campaign, such as
// utm_source. It knows nothing of ours. All other bytes of the target stay as they are.
package mark

import (
	"net/url"
	"strings"
)

// Set returns target with a parameter of that name and value: in place of the first that is there, without further ones
// of the name, or else at the end of the query. The fragment stays behind the query.
func Set(target, name, value string) string {
	before, fragment, hasFragment := strings.Cut(target, "#")
	path, query, _ := strings.Cut(before, "?")
	set := name + "=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	var parts []string
	done := false
	for _, part := range strings.Split(query, "&") {
		if !names(part, name) {
			parts = append(parts, part)
		} else if !done {
			parts, done = append(parts, set), true
		}
	}
	switch {
	case done:
	case query == "":
		parts = []string{set}
	default:
		parts = append(parts, set)
	}
	target = path + "?" + strings.Join(parts, "&")
	if hasFragment {
		target += "#" + fragment
	}
	return target
}

// names reports whether a part of a query is a parameter of that name.
func names(part, name string) bool {
	key, _, _ := strings.Cut(part, "=")
	decoded, err := url.QueryUnescape(key)
	return err == nil && decoded == name
}
