package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// TestNoLinkOutlivesADeletedUser deletes users while links are made for them in every possible way:
// a deletion that is answered 204 leaves no link, and none is made after it.
func TestNoLinkOutlivesADeletedUser(t *testing.T) {
	t.Parallel()
	const rounds = 100 / min(stride, 4)
	st := newSite(t, nil)
	deleted := 0
	for i := range rounds {
		u := st.person(fmt.Sprintf("user%d@example.com", i), account.RoleMember)
		token, id := st.issue(account.CallerOf(u), account.LinksWrite), fmt.Sprint(u.ID)
		made := make([]reply, 0, 8)
		var mu sync.Mutex
		var making sync.WaitGroup
		for _, ask := range []func() reply{
			func() reply { return st.callAs(token, "POST", "/shorten", `{"url":"http://a/"}`) },
			func() reply { return st.callAs(token, "POST", "/shorten", `{"url":"http://a/"}`, "Idempotency-Key: k") },
			func() reply {
				return st.callAs(token, "POST", "/shorten/bulk", `[{"url":"http://a/"},{"url":"http://b/"}]`)
			},
			func() reply { return st.call("POST", "/import?owner="+id, `[{"url":"http://a/","code":"code`+id+`"}]`) },
		} {
			making.Go(func() {
				r := ask()
				mu.Lock()
				defer mu.Unlock()
				made = append(made, r)
			})
		}
		answer := st.call("DELETE", "/users/"+id, "")
		making.Wait()
		left := st.call("GET", "/links?owner="+id, "")
		switch none := strings.HasPrefix(left.body, `{"data":[],`); {
		case answer.status == 204 && !none:
			t.Fatalf("round %d: the user is deleted, and there is %s", i, left.body)
		case answer.status == 204:
			deleted++
		case answer.status != 422 || answer.fields() != "links:required" || none:
			t.Fatalf("round %d: got %d %s, and the links %s", i, answer.status, answer.body, left.body)
		}
		for _, r := range made {
			known := r.status == 200 || r.status == 201
			expect.That(t, (answer.status != 204 || !known) && (answer.status != 422 || known),
				"round %d: the deletion was answered %d, and a create %d %s", i, answer.status, r.status, r.body)
		}
	}
	if t.Logf("%d of %d users were deleted", deleted, rounds); deleted == 0 {
		t.Error("no user was deleted, so nothing is shown")
	}
}

// A create is refused after the deletion, even if its caller was authenticated before.
func TestAnOwnerWhoWasDeletedMeanwhileGetsNoLink(t *testing.T) {
	st := newSite(t, nil)
	u := st.person("ann@example.com", account.RoleMember)
	st.call("DELETE", "/users/2", "").need(t, "", 204)
	for name, err := range map[string]error{
		"a link": func() error {
			_, _, err := st.engine.Create(t.Context(), engine.Draft{Owner: u.ID, Target: "http://a/"})
			return err
		}(),
		"links": func() error {
			_, err := st.engine.CreateBulk(t.Context(), []engine.BulkItem{{Draft: engine.Draft{Owner: u.ID, Target: "http://a/"}}})
			return err
		}(),
	} {
		r, known := problem.Of(err)
		expect.That(t, known && r.Kind == problem.Unauthorized, "%s: got %v, want %s", name, err, problem.Unauthorized.Code)
	}
	st.call("POST", "/import?owner=2", `[{"url":"http://a/","code":"x"}]`).expect(t, "an import", 422, fieldsOf("owner:unknown"))
}

// TestARefusedDeletionLeavesTheUserUndisturbed also checks that the refusal comes before any effect
// on the user.
func TestARefusedDeletionLeavesTheUserUndisturbed(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	for i := range 3 {
		body := fmt.Sprintf(`{"url":"http://a/","alias":"x%d"}`, i)
		st.callAs(ann, "POST", "/shorten", body).expect(t, "", 201)
		st.call("DELETE", "/users/2", "").expect(t, "", 422, fieldsOf("links:required"))
	}
}
