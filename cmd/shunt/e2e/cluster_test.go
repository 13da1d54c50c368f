package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestAnyNodeTakesWritesAndEachHasThem(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	for i, n := range s.nodes {
		code, next := fmt.Sprintf("by-%s", n.name), s.nodes[(i+1)%3]
		n.call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code, "tags": []string{"t"}}).want(t, 201)
		got := n.call("GET", "/links/"+code, nil).want(t, 200).body["url"]
		expect.That(t, got == "https://example.com/"+code, "%s: the node that took a link has %v", n.name, got)
		s.leads(code, "https://example.com/"+code)
		next.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": code}).want(t, 409)
		next.call("PATCH", "/links/"+code, map[string]any{"url": "https://example.com/new-" + code}).want(t, 200)
		s.leads(code, "https://example.com/new-"+code)
	}
	s.nodes[1].call("DELETE", "/links/by-a", nil).want(t, 204)
	for _, n := range s.nodes {
		s.await(func() bool { return n.redirects("by-a") == 404 }, "a deleted link is gone at "+n.name)
	}
	first := s.nodes[1].call("POST", "/shorten", map[string]any{"url": "https://example.com/once"}, "Idempotency-Key", "one").want(t, 201)
	again := s.nodes[2].call("POST", "/shorten", map[string]any{"url": "https://example.com/once"}, "Idempotency-Key", "one").want(t, 201)
	expect.That(t, first.body["code"] == again.body["code"],
		"a request that was repeated at another node made %v and %v", first.body["code"], again.body["code"])
	shunt(t, "", nil, "add", "https://example.com/local", "--alias", "local", "--data", s.nodes[2].data).done(t)
	s.leads("local", "https://example.com/local")
	s.alike()
}

// TestAnyNodeRestoresALinkAndEachHasIt deletes a link with a cap and hits at one node, and restores it at another.
func TestAnyNodeRestoresALinkAndEachHasIt(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/x", "alias": "x", "max_hits": 100}).want(t, 201)
	s.leads("x", "https://example.com/x") // a hit at each, at least
	gone := func() {
		t.Helper()
		for _, n := range s.nodes {
			s.await(func() bool { return n.redirects("x") == 404 }, "a deleted link is gone at "+n.name)
		}
	}
	s.nodes[1].call("DELETE", "/links/x", nil).want(t, 204)
	gone()
	for _, n := range s.nodes {
		s.await(func() bool {
			return len(n.call("GET", "/links?state=deleted", nil).want(t, 200).body["data"].([]any)) == 1
		}, "it is in the trash at "+n.name)
	}
	s.nodes[2].call("POST", "/links/x/restore", nil).want(t, 200)
	for _, n := range s.nodes { // hits that others had not pulled when it was deleted count, too
		s.await(func() bool { return n.call("GET", "/links/x", nil).want(t, 200).body["hits"].(float64) >= 3 }, "it has its hits again at "+n.name)
	}
	s.leads("x", "https://example.com/x")
	s.nodes[0].call("DELETE", "/links/x?purge=true", nil).want(t, 204)
	gone()
	s.nodes[1].call("POST", "/links/x/restore", nil).want(t, 404)
	s.alike()
}

// TestAnyNodeTakesDomainsAndEachHasThem adds a domain at a node, changes and removes it at others, and asks each.
func TestAnyNodeTakesDomainsAndEachHasThem(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.nodes[1].call("POST", "/domains", map[string]any{"host": "go.test"}).want(t, 201)
	s.nodes[2].call("POST", "/shorten", map[string]any{"url": "https://example.com/default", "alias": "x"}).want(t, 201)
	s.await(func() bool {
		return s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/go", "alias": "x", "domain": "go.test"}).status == 201
	}, "a node makes a link in a domain that another one has added")
	leads := func(host, target string) {
		t.Helper()
		for _, n := range s.nodes {
			s.await(func() bool { return n.locationAs(host, "/x") == target }, host+" leads to "+target+" at "+n.name)
		}
	}
	leads("go.test", "https://example.com/go")
	leads("other.test", "https://example.com/default")
	s.nodes[0].call("PATCH", "/domains/go.test", map[string]any{"host": "www.go.test"}).want(t, 200)
	leads("www.go.test", "https://example.com/go")
	leads("go.test", "https://example.com/default")
	s.nodes[2].call("DELETE", "/domains/www.go.test", nil).want(t, 409)
	s.nodes[1].call("DELETE", "/links/x?domain=www.go.test", nil).want(t, 204)
	s.nodes[2].call("DELETE", "/domains/www.go.test", nil).want(t, 204)
	leads("www.go.test", "https://example.com/default")
	s.alike()
}

// TestEachNodeAndEdgeKnowsTheMembersOfFolders shares a folder at a node, and reads its link as a member at each. An
// edge has the folder, but takes no change of it.
func TestEachNodeAndEdgeKnowsTheMembersOfFolders(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	e := s.edge("edge-1", s.nodes[1])
	s.leader().call("POST", "/users", map[string]any{"email": "bob@example.com", "role": "member"}).want(t, 201)
	s.await(s.caughtUp, "all nodes have caught up")
	bob := shunt(t, "", nil, "token", "add", "--name", "bob", "--user", "bob@example.com", "--data", s.leader().data)
	bob.done(t)
	as := []string{"Authorization", "Bearer " + strings.TrimSpace(bob.stdout)}
	made := s.nodes[2].call("POST", "/folders", map[string]any{"name": "Spring"}).want(t, 201)
	path := fmt.Sprintf("/folders/%v", made.body["id"])
	s.await(func() bool {
		return s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "x", "folder": made.body["id"]}).status == 201
	}, "a node puts a link into a folder that another one has made")
	everywhere := append([]*siteNode{e}, s.nodes...)
	answers := func(status int, what string) {
		t.Helper()
		for _, n := range everywhere {
			s.await(func() bool {
				return n.call("GET", "/links/x", nil, as...).status == status && n.call("GET", path, nil, as...).status == status
			}, what+" at "+n.name)
		}
	}
	answers(404, "nobody is a member")
	s.nodes[1].call("PATCH", path, map[string]any{"members": []any{map[string]any{"email": "bob@example.com", "may": "edit"}}}).want(t, 200)
	answers(200, "a member reads the link")
	s.await(func() bool { return e.call("GET", "/links?folder=1", nil, as...).status == 200 }, "the edge lists it")
	s.nodes[2].call("PATCH", "/links/x", map[string]any{"title": "by bob"}, as...).want(t, 200)
	e.call("PATCH", path, map[string]any{"name": "Summer"}).want(t, 403)
	s.nodes[0].call("DELETE", path, nil).want(t, 409)
	s.nodes[0].call("PATCH", path, map[string]any{"members": []any{}}).want(t, 200)
	answers(404, "nobody is a member any more")
	s.nodes[1].call("PATCH", "/links/x", map[string]any{"folder": nil}).want(t, 200)
	s.nodes[0].call("DELETE", path, nil).want(t, 204)
	s.alike()
}

func TestARevokedTokenIsRefusedByEveryNode(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	made := s.nodes[2].call("POST", "/tokens", map[string]any{"name": "short-lived", "scopes": []string{"links:read"}}).want(t, 201)
	secret := made.body["token"].(string)
	for _, n := range s.nodes {
		s.await(func() bool {
			return n.call("GET", "/links", nil, "Authorization", "Bearer "+secret).status == 200
		}, "the token works at "+n.name)
	}
	s.nodes[1].call("DELETE", fmt.Sprintf("/tokens/%v", made.body["id"]), nil).want(t, 204)
	revoked := time.Now()
	for _, n := range s.nodes {
		s.await(func() bool {
			return n.call("GET", "/links", nil, "Authorization", "Bearer "+secret).status == 401
		}, "the token is refused at "+n.name)
	}
	t.Logf("refused by all nodes %v after the answer", time.Since(revoked).Round(time.Millisecond))
}
