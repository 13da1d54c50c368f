package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"shunt/engine/expect"
)

// maxToldRefusals is how many addresses are printed for each reason.
const maxToldRefusals = 5

// refusals are the addresses that the server refused, by reason. Any goroutine may call add.
type refusals struct {
	mu       sync.Mutex
	byReason map[string][]string
}

// add notes the server's answer for an address, and returns the field and the code of the reason.
func (r *refusals) add(line string, answer []byte) (field, code string, err error) {
	problem := struct {
		Code   string
		Errors []struct{ Field, Code, Message string }
	}{}
	if err := json.Unmarshal(answer, &problem); err != nil {
		return "", "", err
	}
	if problem.Code != "invalid" || len(problem.Errors) != 1 || problem.Errors[0].Message == "" {
		return "", "", errors.New("want the problem invalid with one reason")
	}
	why := problem.Errors[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byReason == nil {
		r.byReason = map[string][]string{}
	}
	r.byReason[why.Message] = append(r.byReason[why.Message], line)
	return why.Field, why.Code, nil
}

// text lists the reasons, and the first addresses of each.
func (r *refusals) text() string {
	var b strings.Builder
	for _, why := range slices.Sorted(maps.Keys(r.byReason)) {
		lines := r.byReason[why]
		slices.Sort(lines) // the answers came in any order
		fmt.Fprintf(&b, "refused, %d: %s\n", len(lines), why)
		for _, line := range lines[:min(len(lines), maxToldRefusals)] {
			fmt.Fprintf(&b, "    %q\n", line)
		}
	}
	return b.String()
}

// A user's file has addresses that storedForm does not foresee: the test prints them with the
// server's reason.
func TestInvalidHostsOfAUsersFileAreReportedNotFailed(t *testing.T) {
	t.Parallel()
	expect.That(t, !possibleHost.MatchString("localhost:%d"), "a port that is not a number is possible")
	p := startServer(t, t.TempDir())
	lines := []string{
		"https://example.org/a", "http://localhost:%d/", "http://example.org:99999/", "http://exa%mple.org/", "http://1.2.3.4.5/", "http://[::g]/", "http://a..b/", "ftp://a.b/",
	}
	r := &e2e{t: t, server: p, token: p.token(), foreign: true}
	r.post(lines)
	expect.That(t, len(r.links) == 1 && r.links[0].url == lines[0], "got links %+v, want the first address", r.links)
	told := r.refused.text()
	for _, line := range lines[1:] {
		expect.That(t, strings.Contains(told, fmt.Sprintf("%q", line)), "%s is not printed:\n%s", line, told)
	}
	expect.Contains(t, told, "refused, 2: must have a port from 0 to 65535, or none")
}
