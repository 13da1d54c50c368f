package page

import (
	"strconv"
	"strings"
)

// PrefersJSON reports whether the lines of Accept name JSON, and do not name HTML with the same or
// a greater weight. Wildcards count for neither, so that curl and browsers get pages, and clients
// that write "application/json, */*" get JSON.
func PrefersJSON(lines [][]byte) bool {
	json, html := 0.0, 0.0
	for _, line := range lines {
		for part := range strings.SplitSeq(string(line), ",") {
			mediaType, parameters, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "application/json", "application/problem+json":
				json = max(json, quality(parameters))
			case "text/html", "application/xhtml+xml":
				html = max(html, quality(parameters))
			}
		}
	}
	return json > html
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
