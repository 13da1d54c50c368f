package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"

	"shunt/engine/expect"
)

// How many bytes a page may be with all of its parts, as they are sent: at the first visit, and at one when the browser
// has what it may keep.
const (
	maxCold = 35_000
	maxWarm = 8_000
)

// smallest is the size of a body below which compression gains nothing to speak of: three packets.
const smallest = 4_000

// weightless is the beginning of addresses that these limits do not hold for.
const weightless = "/_/logo"

// wantLight checks that the page is light, and that what is long in it is sent compressed.
func (b *tab) wantLight() {
	b.t.Helper()
	var cold, warm float64
	for _, p := range b.watch.parts() {
		path := strings.TrimPrefix(p.url, b.base)
		if strings.HasPrefix(path, weightless) || p.kind == "EventSource" {
			continue
		}
		if cold += p.sent; !p.kept {
			warm += p.sent
		}
		expect.That(b.t, p.loaded <= smallest || p.encoding != "" || p.kind == "Image", "%s: %.0f bytes are sent without compression", path, p.loaded)
	}
	b.t.Logf("%s: %.0f bytes, %.0f of them at each visit", b.watch.address(), cold, warm)
	if cold == 0 || cold > maxCold || warm > maxWarm {
		b.t.Errorf("%s: it has %.0f bytes in all, and %.0f at each visit; want at most %d and %d", b.watch.address(), cold, warm, maxCold, maxWarm)
	}
}

// wantNoSideways checks that nobody has to scroll sideways.
func (b *tab) wantNoSideways(width int64) {
	b.t.Helper()
	wide := eval[[]string](b, `(() => {
		const page = document.scrollingElement, width = `+jsonOf(width)+`;
		if (page.scrollWidth <= width && innerWidth <= width) return []; // a phone's innerWidth grows with the page
		const beyond = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1);
		return ['the page is ' + page.scrollWidth + ' px wide in a window of ' + width,
			...beyond.slice(0, 5).map(e => '<' + e.tagName.toLowerCase() + ' class="' + e.className + '"> ' + e.textContent.trim().slice(0, 60))];
	})()`)
	for _, w := range wide {
		b.t.Errorf("%s at %d px: %s", b.watch.address(), width, w)
	}
}

// wantAccessible checks that axe-core finds nothing wrong with the page.
func (b *tab) wantAccessible(l look) {
	b.t.Helper()
	if !eval[bool](b, "typeof axe === 'object'") {
		call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: axe(b.t)})
	}
	// The policy of the pages forbids what axe's preload would fetch, so preload is off.
	found := eval[[]struct {
		Rule, Help, Why string
		Selectors       []string
	}](b, `axe.run(document, {preload: false, resultTypes: ['violations']}).then(r => r.violations.map(v =>
		({Rule: v.id, Help: v.help, Why: v.nodes[0].failureSummary, Selectors: v.nodes.map(n => n.target.join(' '))})))`)
	for _, f := range found {
		b.t.Errorf("%s, %v: axe's rule %s: %s\nat %d elements: %s\n%s",
			b.watch.address(), l, f.Rule, f.Help, len(f.Selectors), strings.Join(f.Selectors[:min(10, len(f.Selectors))], ", "), f.Why)
	}
}

// axe returns the source of axe-core, which make browser fetches.
func axe(t testing.TB) string {
	t.Helper()
	path := os.Getenv(axeVariable)
	expect.MustThat(t, path != "", "%s is not set; make browser fetches axe-core and names its file there", axeVariable)
	source, err := os.ReadFile(path)
	expect.OK(t, err)
	return string(source)
}

// A recorder keeps the complaints of checks, in place of the test that they fail.
type recorder struct {
	testing.TB
	said strings.Builder
}

func (r *recorder) Errorf(format string, args ...any) { fmt.Fprintf(&r.said, format+"\n", args...) }

// faults returns what a check complains about.
func faults(b *tab, check func(*tab)) string {
	r := &recorder{TB: b.t}
	watched := *b
	watched.t = r
	check(&watched)
	return r.said.String()
}

// jsonOf returns a value as an expression of JavaScript.
func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// The pages of this test have faults, and each of them must be found.
func TestTheChecksOfPagesFindFaults(t *testing.T) {
	needBrowser(t)
	base := servePages(t, map[string]string{
		"/wide":   `<main><h1>Wide</h1><pre>` + strings.Repeat("x", 400) + `</pre></main>`,
		"/pale":   `<main><h1>Pale</h1><p class="pale">Hardly to be read.</p></main><style>.pale { color: #ccc }</style>`,
		"/heavy":  `<main><h1>Heavy</h1>` + strings.Repeat("<p>More and more.</p>", 3000) + `</main>`,
		"/hidden": `<main><h1>Hidden</h1><a href="/wide">Here</a></main><style>a:focus { outline: none }</style>`,
	}, "")
	for path, c := range map[string]struct {
		check func(*tab)
		want  string
	}{
		"/wide":   {func(b *tab) { b.wantNoSideways(1280) }, "px wide in a window of 1280"},
		"/pale":   {func(b *tab) { b.wantAccessible(look{"light", 1280}) }, "rule color-contrast"},
		"/heavy":  {func(b *tab) { b.wantLight() }, "bytes in all"},
		"/hidden": {func(b *tab) { b.stops() }, "looks as it does without it"},
	} {
		b := watchedTab(t, base)
		b.visit(path, http.StatusOK)
		expect.Contains(t, faults(b, c.check), c.want, path)
	}
}
