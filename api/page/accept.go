package page

import (
	"slices"
	"strconv"
	"strings"
)

var (
	jsonTypes = []string{"application/json", "application/problem+json"}
	htmlTypes = []string{"text/html", "application/xhtml+xml"}
	csvTypes  = []string{"text/csv"}
	textTypes = []string{"text/plain"}
)

// PrefersJSON reports whether the lines of Accept name JSON, and do not name HTML with the same or
// a greater weight. Wildcards count for neither, so that curl and browsers get pages, and clients
// that write "application/json, */*" get JSON.
func PrefersJSON(lines [][]byte) bool { return prefers(lines, jsonTypes, htmlTypes) }

// PrefersCSV reports whether the lines of Accept name CSV, and do not name JSON with the same or a greater weight.
func PrefersCSV(lines [][]byte) bool { return prefers(lines, csvTypes, jsonTypes) }

// PrefersText reports whether the lines of Accept name plain text, and do not name JSON with the same or a greater
// weight, as libraries do that take everything.
func PrefersText(lines [][]byte) bool { return prefers(lines, textTypes, jsonTypes) }

// prefers reports whether the lines of Accept give one of the types a greater weight than all others.
func prefers(lines [][]byte, types, others []string) bool {
	most, other := 0.0, 0.0
	for _, line := range lines {
		for part := range strings.SplitSeq(string(line), ",") {
			mediaType, parameters, _ := strings.Cut(part, ";")
			switch mediaType = strings.ToLower(strings.TrimSpace(mediaType)); {
			case slices.Contains(types, mediaType):
				most = max(most, quality(parameters))
			case slices.Contains(others, mediaType):
				other = max(other, quality(parameters))
			}
		}
	}
	return most > other
}

// quality returns the q of a media range's parameters (RFC 9110, 12.4.2): 1 if there is none, 0 if
// it is malformed.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}
