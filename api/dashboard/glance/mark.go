package glance

import (
	"hash/fnv"
	"html/template"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Colours is how many colours there are, whose classes are mark-0 and so on.
const Colours = 8

// Mark returns the mark of a host: its first letter or digit on a colour that the host always has. It says nothing that
// the host does not, so screen readers leave it out.
func Mark(host string) template.HTML {
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	sum := fnv.New32a()
	sum.Write([]byte(host))
	return template.HTML(`<span class="mark mark-` + strconv.FormatUint(uint64(sum.Sum32()%Colours), 10) + `" aria-hidden="true">` +
		template.HTMLEscapeString(letter(host)) + `</span>`)
}

// letter returns the letter of a host, of an international one as people write it.
func letter(host string) string {
	if readable, err := idna.ToUnicode(host); err == nil {
		host = readable
	}
	for _, c := range host {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return string(unicode.ToUpper(c))
		}
	}
	return "?"
}
