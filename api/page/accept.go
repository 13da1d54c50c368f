package page

import (
	"slices"
	"strconv"
	"strings"
)

// PrefersJSON reports whether the lines of Accept name JSON, and do not name HTML with the same or
// a greater weight. Wildcards count for neither, so that curl and browsers get pages, and clients
// that write "application/json, */*" get JSON.
func PrefersJSON(lines [][]byte) bool {
	return weight(lines, "application/json", "application/problem+json") > weight(lines, "text/html", "application/xhtml+xml")
}

// PrefersCSV reports whether the lines of Accept name CSV, and do not name JSON with the same or a greater weight.
func PrefersCSV(lines [][]byte) bool {
	return weight(lines, "text/csv") > weight(lines, "application/json", "application/problem+json")
}

// weight returns the greatest weight that the lines of Accept give one of the types.
func weight(lines [][]byte, types ...string) (most float64) {
	for _, line := range lines {
		for part := range strings.SplitSeq(string(line), ",") {
			mediaType, parameters, _ := strings.Cut(part, ";")
			if slices.Contains(types, strings.ToLower(strings.TrimSpace(mediaType))) {
				most = max(most, quality(parameters))
			}
		}
	}
	return most
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
