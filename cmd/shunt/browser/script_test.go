package browser

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"

	"shunt/engine/expect"
)

// This file has what the pages can do by script only.

// The results change while a person types. Going back and reloading show them again.
func TestSearchFindsAsOneTypes(t *testing.T) {
	d := startDemo(t)
	b := d.open(t, row{path: "/_/links", as: admin})
	shows := func(found, other string) {
		t.Helper()
		b.until("it finds "+found+" and not "+other, func() bool {
			text := b.reads("#results")
			return strings.Contains(text, found) && (other == "" || !strings.Contains(text, other))
		})
	}
	b.mark()
	b.click(field("Search"))
	b.fill(field("Search"), "nl-4")
	shows("nl-41", "volunteers")
	expect.Equal(t, eval[string](b, "document.activeElement.id"), "q", "the focus is at")
	b.fill(field("Search"), "zzz")
	shows("Nothing was found", "nl-41")
	b.fill(field("Search"), "")
	shows(demoCode, "")
	b.click(field("Search")) // browsers skip an entry of the history if nobody has used its page
	b.fill(field("State"), "disabled")
	shows(disabledCode, "nl-41")
	b.sameDocument()
	expect.Equal(t, b.query("state"), "disabled", "the address has the state")

	b.reload()
	shows(disabledCode, demoCode)
	expect.Equal(t, b.value(field("State")), "disabled", "after a reload, the form has the state")
	b.loading(http.StatusOK, func() {
		x, y := b.place(`.rows a[href="/_/link/` + disabledCode + `"]`)
		b.press(x, y, 1)
	})
	b.isAt("/_/link/" + disabledCode)
	b.back()
	shows(disabledCode, demoCode)
	eval[any](b, "history.back()") // to the page before the search
	b.until("the search is empty again", func() bool { return b.path() == "/_/links" && b.query("state") == "" })
	shows(demoCode, "")
}

func TestSearchWorksWithoutScript(t *testing.T) {
	d := startDemo(t)
	b := openTabWithoutScript(t, d.base)
	b.enter(d.sessions[admin])
	b.visit("/_/links", http.StatusOK)
	b.fill(field("Search"), "nl-4")
	b.follow(button("Search"))
	if text := b.reads("#results"); !strings.Contains(text, "nl-41") || strings.Contains(text, "volunteers") || b.value(field("Search")) != "nl-4" {
		t.Errorf("got %s", text)
	}
}

// The text of each is in the clipboard, also where browsers give pages no clipboard of their own.
func TestCopyButtonsCopy(t *testing.T) {
	needBrowser(t)
	for _, w := range ways {
		if short() && w.name != intranet.name {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			d := openDesk(t, w, openTab)
			d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
			b := d.tab
			pasted := func(want string) {
				t.Helper()
				b.visit("/_/tokens", http.StatusOK)
				b.click(field("Name"))
				b.key("v", "paste")
				expect.Equal(t, b.value(field("Name")), want, "the clipboard")
			}
			b.visit("/_/link/abc", http.StatusOK)
			b.click(button("Copy"))
			b.find(button("Copied"))
			pasted(d.base + "/abc")

			b.visit("/_/links/bulk", http.StatusOK)
			b.fill(field("Addresses or CSV"), "https://example.org/one")
			b.follow(button("Create the links"))
			short := strings.TrimSpace(b.value(field("Short addresses")))
			b.click(button("Copy all short addresses"))
			b.find(button("Copied"))
			pasted(short)

			b.visit("/_/links", http.StatusOK)
			b.click(button("Copy abc"))
			b.until("the button says so", func() bool { return b.reads(`[aria-label="Copy abc"]`) == "Copied" })
			pasted(d.base + "/abc")
		})
	}
}

// A line of the list that is cut off is read in full below the pointer, and no other line says anything there.
func TestALineThatIsCutOffIsReadInFull(t *testing.T) {
	d := openDesk(t, intranet, openTab)
	long := "A title of the link " + strings.Repeat("that is too long ", 10) + "to be read"
	for alias, title := range map[string]string{"long": long, "short": "Short"} {
		d.create(d.token, map[string]any{"url": "https://example.org/", "alias": alias, "title": title})
	}
	d.tab.visit("/_/links", http.StatusOK)
	said := eval[[]string](d.tab, `[...document.querySelectorAll('.main > a.cut')].map(line => {
		line.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
		return line.title;
	})`)
	slices.Sort(said)
	expect.Equal(t, strings.Join(said, "|"), "|"+long)
}

// Each value of a chart is read by the arrow keys and by the pointer, as the table behind it has it.
func TestAChartIsReadByPointerAndByKeys(t *testing.T) {
	d := startDemo(t)
	for _, path := range []string{"/_/link/" + demoCode, "/_/"} {
		b := d.open(t, row{path: path, as: admin})
		rows := eval[[]string](b, `[...document.querySelectorAll('figure[data-from] tbody tr')].map(r => [...r.cells].map(c => c.textContent.replace(/\D/g, '')).slice(1, 3).join())`)
		expect.MustThat(t, len(rows) >= 2, "%s: the chart has the rows %q", path, rows)
		reads := func(how string, i int) {
			t.Helper()
			hits, visitors, _ := strings.Cut(rows[i], ",")
			want := regexp.MustCompile(`\b` + hits + ` hits?, ` + visitors + ` visitors?\b`)
			if got := numberMark.ReplaceAllString(b.reads(".chart-readout"), "$1$2"); !want.MatchString(got) {
				t.Errorf("%s, %s: value %d reads %q, want %v", path, how, i, got, want)
			}
		}
		figure := call(b, dom.GetDocument, dom.GetDocumentParams{}).Root.NodeID
		node := call(b, dom.QuerySelector, dom.QuerySelectorParams{NodeID: figure, Selector: "figure[data-from]"}).NodeID
		call(b, dom.Focus, dom.FocusParams{NodeID: node})
		b.key("Home")
		for i := range rows {
			reads("by keys", i)
			b.key("ArrowRight")
		}
		reads("at the end", len(rows)-1)
		b.key("Escape")
		if got := b.reads(".chart-readout"); !strings.HasSuffix(got, "(most hits)") {
			t.Errorf("%s: at rest it reads %q, want the most hits", path, got)
		}
		eval[any](b, "document.activeElement.blur(); document.querySelector('svg.chart').scrollIntoView({block: 'center'})")
		box := eval[[]float64](b, "(r => [r.left, r.top + r.height / 2, r.width])(document.querySelector('svg.chart').getBoundingClientRect())")
		for _, i := range []int{0, len(rows) / 2, len(rows) - 1} {
			b.point(box[0]+(float64(i)+.5)/float64(len(rows))*box[2], box[1])
			reads("by pointer", i)
		}
	}
}

// Figures of today and of a link move while people follow links, and no page is loaded for that.
func TestFiguresAreLive(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.server.token(), map[string]any{"url": "https://example.org/", "alias": "foreign"})
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
	for _, path := range []string{"/_/", "/_/link/abc"} {
		b := openTab(t, d.base)
		b.enter(d.session)
		b.visit(path, http.StatusOK)
		b.mark()
		hits := func() int {
			n, _ := strconv.Atoi(strings.ReplaceAll(b.reads("[data-live-value=hits]"), ",", ""))
			return n
		}
		before := hits()
		for _, n := range []int{1, 4} {
			d.hit("abc", n, demoVisitors[0])
			d.hit("foreign", n, demoVisitors[0])
			before += n
			b.until(fmt.Sprintf("it shows %d hits", before), func() bool { return hits() == before })
		}
		b.sameDocument()
	}
}

// numberMark is the comma in a large number.
var numberMark = regexp.MustCompile(`(\d),(\d{3})`)

// expiry is a moment that is another day in a zone far in the east.
var expiry = time.Date(2031, 5, 6, 20, 30, 0, 0, time.UTC)

// Times are those of the visitor's zone by script, also while one edits them, and of UTC without.
func TestTimesAreInTheZoneOfTheVisitor(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc", "expires_at": expiry.Format(time.RFC3339)})
		call(d.tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"}) // UTC+5:45
		shown, typed, moved := "7 May 2031, 02:15", "2031-05-07T02:15", "2031-05-07T03:15"
		if !d.script {
			shown, typed, moved = "2031-05-06 20:30 UTC", "2031-05-06T20:30", "2031-05-06T21:30"
		}
		b := d.tab
		b.visit("/_/link/abc", http.StatusOK)
		b.sees(shown)
		b.follow(link("Edit"))
		zone := map[bool]string{true: "Asia/Kathmandu", false: "UTC"}[d.script]
		if b.script { // the browser may have renamed the zone since
			zone = eval[string](b, "Intl.DateTimeFormat().resolvedOptions().timeZone")
		}
		expires := field("Expires (" + zone + ")")
		expect.Equal(t, b.value(expires), typed, "the form")
		for value, want := range map[string]time.Time{"": expiry, moved: expiry.Add(time.Hour)} {
			b.visit("/_/link/abc/edit", http.StatusOK)
			b.fill(field("Title"), "edited "+value)
			if value != "" {
				b.fill(expires, value)
			}
			b.follow(button("Save"))
			got := answerOf[struct {
				At time.Time `json:"expires_at"`
			}](d.server, d.token, http.MethodGet, "/links/abc", nil).At
			if value == "" && got.Equal(expiry.Add(time.Hour)) {
				want = got // it was moved before
			}
			expect.That(t, got.Equal(want), "%q is kept as %v, want %v", value, got, want)
		}
	})
}
