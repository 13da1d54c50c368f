package browser

import (
	"html"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// hostileStrings returns the strings of testdata/hostile-strings.txt, and one that is long.
func hostileStrings(t testing.TB) (all []string) {
	t.Helper()
	file, err := os.ReadFile("testdata/hostile-strings.txt")
	expect.OK(t, err)
	for number, line := range strings.Split(string(file), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, err := strconv.Unquote(line)
		expect.MustThat(t, err == nil, "line %d: %v: %s", number+1, err, line)
		all = append(all, text)
	}
	return append(all, strings.Repeat("long<b>", 70)) // in the limit of a title, 512 bytes
}

// asShown returns a text as a page has it: white space is one space, and the HTML parser has
// replaced what no document may contain.
func asShown(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// wantText checks that the page has each of the texts as text. That nothing in it ran, loaded or
// opened is checked by the tab's watcher.
func (b *tab) wantText(texts ...string) {
	b.t.Helper()
	content := asShown(b.content())
	for _, text := range texts {
		shown := asShown(text)
		expect.That(b.t, strings.Contains(content, shown), "%s: it does not have %q as text", b.watch.address(), shown)
	}
	foreign := eval[[]string](b, foreignElements)
	expect.That(b.t, len(foreign) == 0, "%s: it has elements that are not of its own: %s", b.watch.address(), strings.Join(foreign, ", "))
}

// foreignElements are elements, attributes and schemes that no page of ours has, but hostile
// strings.
const foreignElements = `[...document.querySelectorAll('*')].flatMap(e => [
	...(e.matches('marquee, iframe, object, embed, base, plaintext, x, math, animate, use, video, meta[http-equiv], [srcdoc], [contenteditable]') ? [e.tagName] : []),
	...[...e.attributes].filter(a => /^on/i.test(a.name) || /^\s*(javascript|vbscript|data):/i.test(a.value) && /^(href|src|action|formaction)$/i.test(a.name)).map(a => e.tagName + ' ' + a.name),
])`

func TestThereAreEnoughHostileStrings(t *testing.T) {
	all := hostileStrings(t)
	expect.That(t, len(all) >= 60, "there are %d, want at least 60", len(all))
	slices.Sort(all)
	n := len(slices.Compact(all))
	expect.Equal(t, n, len(all), "%d of them are there twice", len(all)-n)
}

// A page that shows hostile strings as text passes; one that does not escape them is found out.
func TestHostileStringsAreFoundOutWhereTheyAreNotText(t *testing.T) {
	needBrowser(t)
	all := hostileStrings(t)
	escaped := openTab(t, servePages(t, map[string]string{"/": "<main>" + listed(all, true) + "</main>"}, ""))
	escaped.visit("/", http.StatusOK)
	escaped.wantText(all...)
	for _, name := range []string{"<img src=x onerror=__pwn()>", "<script>__pwn()</script>", "<svg onload=__pwn()>", "</textarea><script>__pwn()</script>"} {
		b := watchedTab(t, servePages(t, map[string]string{"/": listed([]string{name}, false)}, ""))
		b.visit("/", http.StatusOK)
		b.until("the watcher reports "+name, func() bool {
			return strings.Contains(strings.Join(b.watch.complaints(), "\n"), "a hostile string ran")
		})
		expect.Contains(t, faults(b, func(b *tab) { b.wantText(name) }), "as text", name)
	}
}

// listed returns a list of texts, as HTML if they are escaped.
func listed(texts []string, escaped bool) string {
	var b strings.Builder
	for _, text := range texts {
		if escaped {
			text = html.EscapeString(text)
		}
		b.WriteString("<p>" + text + "</p>\n")
	}
	return b.String()
}
