package settings

import (
	"slices"
	"strings"
)

// otherNames are what other programs call a setting of ours.
var otherNames = map[string]string{
	"addr": "listen", "address": "listen", "bind": "listen", "host": "listen", "port": "listen",
	"metrics-listen": "admin-listen", "health-listen": "admin-listen",
	"domain": "base-url", "hostname": "base-url", "public-url": "base-url", "url": "base-url",
	"data-dir": "data", "datadir": "data", "db": "data", "dir": "data",
	"cert": "tls-cert", "ssl-cert": "tls-cert", "key": "tls-key", "ssl-key": "tls-key",
	"debug": "log-level", "verbose": "log-level",
}

// maxSuggestions keeps a message readable.
const maxSuggestions = 2

// nearest returns the names that text was probably meant to be: at most maxSuggestions, all equally
// near.
func nearest(text string, names []string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "_", "-"))
	if other := otherNames[text]; slices.Contains(names, other) {
		return []string{other}
	}
	best, found := max(1, len(text)/3), []string(nil)
	for _, name := range slices.Sorted(slices.Values(names)) {
		d := editDistance(text, name)
		if len(text) >= 4 && len(name) >= 4 && (strings.HasPrefix(name, text) || strings.HasPrefix(text, name)) {
			d = min(d, 1)
		}
		if d < best {
			best, found = d, nil
		}
		if d == best {
			found = append(found, name)
		}
	}
	return found[:min(len(found), maxSuggestions)]
}

// DidYouMean returns "; did you mean …?" for a name that does not exist, or "" if none of names is
// like it. dress formats each suggestion.
func DidYouMean(text string, names []string, dress func(name string) string) string {
	near := nearest(text, names)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = dress(name)
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// editDistance returns how many bytes must be inserted, deleted, replaced or swapped with their
// neighbour to make b of a (optimal string alignment: Damerau 1964).
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := range len(a) {
		for j := range len(b) {
			replaced := rows[i][j]
			if a[i] != b[j] {
				replaced++
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, replaced)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(a)][len(b)]
}
