package browser

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// A walk is one run through the pages of a new server.
type walk struct {
	*server
	t    *testing.T
	open func() *tab // opens a tab of another person
	tab  *tab        // the first person's
}

// From the link that the server prints to signing out, people get along by mouse, by keyboard and
// without script, however they reach the server.
func TestTheFirstMinuteToTheLastClick(t *testing.T) {
	needBrowser(t)
	hands := map[string]func(*testing.T, string) *tab{
		"mouse":     openTab,
		"no script": openTabWithoutScript,
		"keyboard": func(t *testing.T, base string) *tab {
			b := openTab(t, base)
			b.keys = true
			return b
		},
	}
	shortForm := map[string]bool{"localhost/mouse": true, "intranet/no script": true, "https/keyboard": true}
	for _, way := range ways {
		for hand, open := range hands {
			name := way.name + "/" + hand
			if short() && !shortForm[name] {
				continue
			}
			t.Run(name, func(t *testing.T) {
				w := &walk{server: startServer(t, way), t: t}
				w.open = func() *tab { return open(t, w.base) }
				w.tab = w.open()
				w.all()
			})
		}
	}
}

func (w *walk) all() {
	kept := w.setUp()
	w.makeLink("menu")
	w.countLive("menu")
	w.edit("menu")
	w.disable("menu")
	w.delete("menu")
	w.invite(kept)
	w.signOut()
}

var (
	tokenText     = regexp.MustCompile(`shunt_[0-9A-Za-z]{36}`)
	codeText      = regexp.MustCompile(`"code":\s*"(\w+)"`)
	setupLinkText = regexp.MustCompile(`https?://[^\s"']+(/_/setup\?code=[\w-]{22})`)
)

// path returns the path of a setup link in a text.
func (w *walk) setupPath(text string) string {
	w.t.Helper()
	found := setupLinkText.FindStringSubmatch(text)
	expect.MustThat(w.t, found != nil && strings.HasPrefix(found[0], w.base), "there is no setup link of %s in %s", w.base, text)
	return found[1]
}

// setUp sets the first password and uses the first token in the line for curl that the page shows.
// It returns the code of the link that curl made.
func (w *walk) setUp() (code string) {
	b := w.tab
	path := w.setupPath(w.run("", "user", "setup-link"))
	b.visit(path, http.StatusOK)
	b.visit(path, http.StatusOK) // looking does not use it up
	b.fill(field("E-mail"), emails[admin])
	b.fill(field("Password"), password)
	b.follow(button("Set password and sign in"))
	b.click(button("For programs: your first token"))
	var token string
	b.until("there is a token on the page", func() bool {
		token = tokenText.FindString(b.text())
		return token != ""
	})
	line := regexp.MustCompile(`curl .*`).FindString(b.text())
	expect.MustContains(w.t, line, token, "the line for curl does not have the token")
	answer := w.curl(line)
	if found := codeText.FindStringSubmatch(answer); found != nil {
		code = found[1]
	} else {
		w.t.Fatalf("%s: got %s, want a link", line, answer)
	}
	b.reload()
	b.seesNot(token)
	other := w.open()
	other.visit(path, http.StatusNotFound) // it is used up
	return code
}

// curl runs a line for curl as a person does in a shell, and returns what it prints.
func (w *walk) curl(line string) string {
	w.t.Helper()
	home := w.t.TempDir()
	address := strings.TrimPrefix(w.base, "http://"+intranetHost)
	config := "silent\nshow-error\n"
	if strings.HasPrefix(w.base, "https:") {
		config += "cacert = " + certificate(w.t).authority + "\n"
	} else if address != w.base {
		config += "resolve = " + intranetHost + address + ":127.0.0.1\n"
	}
	expect.OK(w.t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte(config), 0o600))
	shell := exec.Command("sh", "-c", line)
	shell.Env = append(os.Environ(), "CURL_HOME="+home, "HOME="+home, "NO_PROXY=*", "no_proxy=*")
	out, err := shell.CombinedOutput()
	expect.MustThat(w.t, err == nil, "%s: %v\n%s", line, err, out)
	return string(out)
}

func (w *walk) makeLink(code string) {
	b := w.tab
	b.visit("/_/links/new", http.StatusOK)
	b.fill(field("Target"), "https://example.org/menu")
	b.fill(field("Alias"), code)
	b.follow(button("Create the link"))
	b.sees(w.base + "/" + code)
}

// countLive follows a link while its page is open.
func (w *walk) countLive(code string) {
	b := w.tab
	b.visit("/_/link/"+code, http.StatusOK)
	for _, hits := range []int{3, 5} {
		w.hit(code, hits-b.hits(), demoVisitors[0])
		if !b.script {
			b.reload()
		}
		b.until(fmt.Sprintf("it shows %d hits", hits), func() bool { return b.hits() == hits })
	}
}

// hits returns the number under "Hits of all time" on the page of a link.
func (b *tab) hits() int {
	b.t.Helper()
	return read[int](b, `(() => {
		const name = [...document.querySelectorAll('dt')].find(e => e.firstChild.textContent.trim() === 'Hits of all time');
		return name ? parseInt(name.nextElementSibling.textContent.replace(/\D/g, '')) : -1;
	})()`)
}

func (w *walk) edit(code string) {
	b := w.tab
	b.follow(link("Edit"))
	b.unfold("Title, tags, expiry and more", field("Title"))
	b.fill(field("Title"), "The menu <b>of today</b>")
	b.follow(button("Save"))
	b.isAt("/_/link/" + code)
	b.sees("The menu <b>of today</b>")
}

func (w *walk) disable(code string) {
	b := w.tab
	b.follow(button("Disable"))
	w.answers(code, http.StatusGone)
	b.follow(button("Enable"))
	w.answers(code, http.StatusFound)
}

func (w *walk) delete(code string) {
	b := w.tab
	b.click(button("More"))
	b.follow(link("Delete"))
	b.sees(code)
	b.follow(button("Delete " + code))
	b.isAt("/_/links")
	w.answers(code, http.StatusNotFound)
}

// answers checks the status that followers of a link get.
func (w *walk) answers(code string, status int) {
	w.t.Helper()
	response, err := w.client.Get(w.base + "/" + code)
	expect.OK(w.t, err)
	defer response.Body.Close()
	expect.Equal(w.t, response.StatusCode, status, "/%s", code)
}

// invite invites a second person, who must see nothing of the first person's link.
func (w *walk) invite(kept string) {
	b := w.tab
	b.follow(link("Admin"))
	b.fill(field("E-mail address"), emails[member])
	b.follow(button("Invite"))
	second := w.open()
	second.visit(w.setupPath(b.content()), http.StatusOK)
	second.fill(field("Password"), password)
	second.follow(button("Set password and sign in"))
	for _, path := range []string{"/_/", "/_/links", "/_/tokens"} {
		second.visit(path, http.StatusOK)
		second.seesNot(kept, emails[admin])
	}
	for _, path := range []string{"/_/link/" + kept, "/_/link/" + kept + "/edit", "/_/link/" + kept + "/delete", "/_/users", "/_/misses", "/_/system"} {
		second.visit(path, http.StatusNotFound)
		second.seesNot(emails[admin])
	}
}

func (w *walk) signOut() {
	b := w.tab
	b.visit("/_/", http.StatusOK)
	b.unfold(emails[admin], button("Sign out"))
	b.follow(button("Sign out"))
	b.visit("/_/links", http.StatusOK)
	b.isAt("/_/sign-in")
	b.fill(field("E-mail"), emails[admin])
	b.fill(field("Password"), password)
	b.follow(button("Sign in"))
	b.isAt("/_/links") // the page that was asked for
}

// unfold opens the menu or section of that name, unless the page shows inside already.
func (b *tab) unfold(name string, inside thing) {
	b.t.Helper()
	b.until(fmt.Sprintf("it has %v, or %v to unfold it", inside, button(name)), func() bool { return b.has(inside) || b.has(button(name)) })
	if !b.has(inside) {
		b.click(button(name))
	}
}
