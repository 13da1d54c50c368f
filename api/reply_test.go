package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// expect checks a reply. Each of wants is a status, a text that the body must contain, or what one of the functions
// below returns. what says which request it answers.
func (r reply) expect(t expect.T, what string, wants ...any) {
	t.Helper()
	if wrong := r.wrong(t, wants); wrong != "" {
		t.Errorf("%s: %s", what, wrong)
	}
}

// need does what expect does, and ends the test.
func (r reply) need(t expect.T, what string, wants ...any) {
	t.Helper()
	if wrong := r.wrong(t, wants); wrong != "" {
		t.Fatalf("%s: %s", what, wrong)
	}
}

// wrong returns the first of wants that r is not, "" if it is all of them.
func (r reply) wrong(t expect.T, wants []any) string {
	for _, w := range wants {
		missing := ""
		switch w := w.(type) {
		case int:
			if r.status != w {
				missing = fmt.Sprintf("status %d", w)
			}
		case string:
			if !strings.Contains(r.body, w) {
				missing = w
			}
		case func(reply) string:
			missing = w(r)
		default:
			t.Fatalf("a reply cannot be compared with %T", w)
		}
		if missing != "" {
			return fmt.Sprintf("got %d %v %s\nwant %s", r.status, r.header, r.body, missing)
		}
	}
	return ""
}

// is returns a want of a value of a reply.
func is(name, want string, of func(reply) string) func(reply) string {
	return func(r reply) string {
		if of(r) == want {
			return ""
		}
		return fmt.Sprintf("%s %q", name, want)
	}
}

func problemOf(code string) func(reply) string  { return is("problem", code, reply.problem) }
func fieldsOf(fields string) func(reply) string { return is("fields", fields, reply.fields) }
func bodyOf(body string) func(reply) string {
	return is("body", body, func(r reply) string { return r.body })
}
func header(name, value string) func(reply) string {
	return is(name, value, func(r reply) string { return r.header.Get(name) })
}

func without(text string) func(reply) string {
	return is("without "+text, "", func(r reply) string {
		if strings.Contains(r.body, text) {
			return text
		}
		return ""
	})
}

func some(name string) func(reply) string {
	return func(r reply) string {
		if r.header.Get(name) != "" {
			return ""
		}
		return "any " + name
	}
}

func connection(closed bool) func(reply) string {
	return func(r reply) string {
		if r.close == closed {
			return ""
		}
		return fmt.Sprintf("connection closed: %v", closed)
	}
}

var kept, closed = connection(false), connection(true)

func TestAReplyThatIsNotAsWantedIsFound(t *testing.T) {
	r := reply{status: 422, header: map[string][]string{"Content-Type": {"application/problem+json"}}, close: true,
		body: `{"type":"urn:shunt:problem:invalid","status":422,"code":"invalid","errors":[{"field":"url","code":"scheme"}]}`}
	r.expect(t, "all that it is", 422, "scheme", problemOf("invalid"), fieldsOf("url:scheme"), header("Content-Type", "application/problem+json"),
		some("Content-Type"), closed, without("alias"), bodyOf(r.body))
	for i, wrong := range []any{
		423, "alias", problemOf("taken"), fieldsOf(""), header("Content-Type", ""), some("ETag"), kept, without("url"), bodyOf(""),
	} {
		var found recorder
		r.expect(&found, "", wrong)
		expect.Equal(t, found.errors, 1, "wrong want %d is not found", i)
	}
}

// A recorder counts the errors of a test that must fail.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }
