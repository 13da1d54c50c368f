package browser

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

const driverPages = `<main><h1>A form</h1>
<form action="/done"><label>Address <input name="url" value="old"></label>
<label>Notes <textarea name="notes"></textarea></label>
<label>State <select name="state"><option value="a">any</option><option value="o">only active</option></select></label>
<label>Until <input type="date" name="until"></label>
<label><input type="checkbox" name="agree"> I agree</label>
<button>Send</button></form>
<details><summary>More</summary><p>Unfolded.</p></details></main>`

// Both with and without script, a form is filled in and sent by mouse and by keyboard.
func TestFormsAreFilledInWithAndWithoutScript(t *testing.T) {
	needBrowser(t)
	base := servePages(t, map[string]string{"/": driverPages, "/done": "<h1>Done</h1>"}, "")
	want := map[string]string{"url": "https://example.org/", "notes": "two\nlines", "state": "o", "until": "2030-01-02", "agree": "on"}
	for name, open := range map[string]func(*testing.T, string) *tab{"script": openTab, "no script": openTabWithoutScript} {
		t.Run(name, func(t *testing.T) {
			b := open(t, base)
			b.visit("/", http.StatusOK)
			b.fill(field("Address"), want["url"])
			b.fill(field("Notes"), "two\nlines")
			b.fill(field("State"), "only active")
			b.fill(field("Until"), want["until"])
			b.click(field("I agree"))
			b.click(button("More"))
			b.sees("Unfolded.")
			expect.Equal(t, b.value(field("Address")), want["url"], "the field")
			b.follow(button("Send"))
			b.isAt("/done")
			want["notes"] = "two\r\nlines" // as forms are sent
			for name, value := range want {
				expect.Equal(t, b.query(name), value, name)
			}
			b.back()
			b.keys = true
			b.fill(field("Address"), "by keyboard")
			b.follow(button("Send"))
			b.isAt("/done")
			expect.Equal(t, b.query("url"), "by keyboard", "by keyboard")
		})
	}
}

func TestAScriptRunsOnlyWhereItMay(t *testing.T) {
	needBrowser(t)
	base := servePages(t, map[string]string{"/": `<p id="p">before</p><script>p.textContent = "after"</script>`}, "")
	b := openTab(t, base)
	b.visit("/", http.StatusOK)
	b.sees("after")
	b = openTabWithoutScript(t, base)
	b.visit("/", http.StatusOK)
	b.sees("before")
}

func TestTextsLinksAndHeadingsAreFoundAsPeopleFindThem(t *testing.T) {
	needBrowser(t)
	b := openTab(t, servePages(t, map[string]string{
		"/":     `<h1>First</h1><p hidden>Secret</p><a href="/next" aria-label="The next page">&gt;</a>`,
		"/next": `<h1>Second</h1>`,
	}, ""))
	b.visit("/", http.StatusOK)
	expect.That(t, b.has(heading("First")) && !b.has(heading("Second")) && !strings.Contains(b.text(), "Secret"), "got %q", b.text())
	b.follow(link("The next page"))
	b.find(heading("Second"))
	b.reload()
	b.isAt("/next")
	b.seesNot("First", "Secret")
}

// Each way in gives the pages what browsers give them there.
func TestEachWayInIsWhatItClaims(t *testing.T) {
	needBrowser(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			s := startServer(t, w)
			b := openTab(t, s.base)
			b.visit("/", http.StatusOK)
			expect.Equal(t, eval[bool](b, "isSecureContext"), w.name != intranet.name)
			s.addUser(s.token(), emails[admin], "admin")
			b.enter(s.logIn(emails[admin], password))
			b.visit("/api/v1/me", http.StatusOK)
			b.sees(emails[admin])
		})
	}
}

// The dashboard tells its own forms from those of other sites by these header fields.
func TestFormsOfAnIntranetSendTheirOriginOnly(t *testing.T) {
	needBrowser(t)
	base := servePages(t, map[string]string{"/": `<form action="/echo" method="post"><button>Send</button></form>`}, "")
	for host, want := range map[string]string{"127.0.0.1": `fetch "same-origin" origin `, intranetHost: `fetch "" origin `} {
		origin := strings.Replace(base, "127.0.0.1", host, 1)
		b := openTab(t, origin)
		b.visit("/", http.StatusOK)
		b.follow(button("Send"))
		b.sees(want + strconv.Quote(origin))
	}
}
