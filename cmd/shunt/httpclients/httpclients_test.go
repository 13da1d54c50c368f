package httpclients

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestClientsAskForTheLocation follows a redirect to each target with each client. A client that is no
// browser must ask for exactly the bytes of Location, unless its row says what it asks for instead.
func TestClientsAskForTheLocation(t *testing.T) {
	tools := os.Getenv("SHUNTTEST_HTTPCLIENTS")
	if tools == "" {
		t.Skip("make http-clients runs this test: it needs the clients, and root")
	}
	s, r, b := startServer(t), startRecorder(t), newBench(t, tools)
	addresses := make([]string, len(targets))
	for i, g := range targets {
		addresses[i] = s.shorten(t, g.typed(r.port), fmt.Sprintf("target-%d", i))
		expect.Equal(t, locationOf(t, addresses[i]), g.location(r.port), "Location of %s", g.name)
	}
	var results table
	for _, c := range clients {
		row := row{client: c, version: b.versionOf(t, c)}
		for i, g := range targets {
			t.Run(c.name+"/"+g.name, func(t *testing.T) {
				row.cells = append(row.cells, cellOf(t, b, r, c, g, addresses[i]))
			})
		}
		results = append(results, row)
	}
	t.Log("\n" + results.String())
	if !t.Failed() && results.whole() {
		expect.OK(t, os.WriteFile("RESULTS.md", []byte(results.String()), 0o644))
	}
}

// cellOf follows one redirect with one client, and returns what the table says of it.
func cellOf(t *testing.T, b bench, r *recorder, c client, g target, address string) cell {
	t.Helper()
	got, shown, ok := ask(t, b, r, c, address)
	if !ok {
		return cell{failed: true}
	}
	want, difference := request{target: g.sent, host: g.sentTo(r.port)}, c.differs[g.name]
	if difference.sent != "" {
		want.target = difference.sent
	}
	if c.browser {
		typed, ok := typedAlike(t, b, r, c, g, got, shown)
		if !ok {
			return cell{failed: true}
		}
		if difference.sent == "" {
			want = typed
		}
	}
	if got != want {
		t.Errorf("%s asked for\n%q, want\n%q", c.name, got, want)
		return cell{failed: true}
	}
	if difference.sent != "" { // so it is not the redirect
		if direct, _, ok := ask(t, b, r, c, g.location(r.port)); !ok || direct != want {
			t.Errorf("%s, given Location itself, asked for\n%q, want\n%q", c.name, direct, want)
			return cell{failed: true}
		}
	}
	return cell{note: difference.note}
}

// typedAlike types the address of a target into a browser, and returns what it asks for. It reports
// whether that, and the address that the page sees, are as they were after the redirect, got and shown, or
// as the browser's row says.
func typedAlike(t *testing.T, b bench, r *recorder, c client, g target, got request, shown string) (typed request, ok bool) {
	t.Helper()
	typed, typedShown, ok := ask(t, b, r, c, g.typed(r.port))
	if !ok {
		return request{}, false
	}
	wantTyped, wantShown, wantTypedShown := got, typedShown, typedShown
	if difference := c.differs[g.name]; difference.sent != "" {
		host := g.sentTo(r.port)
		wantTyped = request{target: difference.typed, host: host}
		wantShown = g.location(r.port)
		wantTypedShown = "http://" + host + difference.typed + difference.hash
	}
	if typed != wantTyped || shown != wantShown || typedShown != wantTypedShown {
		t.Errorf("typed: asked for %q, want %q\nthe page sees\n%s, want\n%s, and if it is typed\n%s, want\n%s",
			typed, wantTyped, shown, wantShown, typedShown, wantTypedShown)
		return request{}, false
	}
	return typed, true
}

var shownAddress = regexp.MustCompile(`<p>(.*)</p>`)

// ask lets a client ask for address, and returns the one request that reached the recorder; of a browser
// also the address that the page saw.
func ask(t *testing.T, b bench, r *recorder, c client, address string) (got request, shown string, ok bool) {
	t.Helper()
	r.take()
	stdout, stderr, err := b.run(append(c.command[:len(c.command):len(c.command)], address)...)
	requests := r.take()
	if err != nil || len(requests) != 1 {
		t.Errorf("%s: %v, it sent %d requests: %q\n%s", c.name, err, len(requests), requests, stderr)
		return request{}, "", false
	}
	if c.browser {
		if found := shownAddress.FindStringSubmatch(stdout); found != nil {
			shown = html.UnescapeString(found[1])
		} else {
			t.Errorf("%s shows no address:\n%s", c.name, stdout)
			return request{}, "", false
		}
	} else if !strings.Contains(stdout, page) {
		t.Errorf("%s did not print the page, but %q", c.name, stdout)
		return request{}, "", false
	}
	return requests[0], shown, true
}
