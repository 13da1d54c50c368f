package shlink

import (
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
)

// Path begins all paths of the door. After it stands a version, v1 to v3, which are alike here; only the path of health
// works without one.
const Path = "/rest"

// A spot is a path of the door, after Path and the version, with its calls by their methods. A * in it stands for a
// code, a tag or a host, which is percent-encoded; a code may have slashes as they are.
//
// A path is at the first spot that it fits, whatever the method is: so DELETE /short-urls/x/redirect-rules, which
// Shlink has not, is a wrong method, and never deletes a link whose code ends in /redirect-rules.
type spot struct {
	path  string
	calls map[string]call
}

// A call is a row of the door.
type call struct {
	action door.Action
	answer func(d *Door, a *asked, caller account.Caller) error
	byGet  bool // it changes something although its method is GET: there is no HEAD of it, and the key is in the query
}

// The actions of calls that are not among those that most doors have.
var (
	figures     = door.Action{Scope: account.StatsRead, Heavy: true}
	known       = door.Action{} // a caller is needed, but no scope
	anybody     = door.Action{Anybody: true}
	editDomains = door.Action{Scope: account.Admin, Accounts: true}
)

const (
	get    = fasthttp.MethodGet
	post   = fasthttp.MethodPost
	put    = fasthttp.MethodPut
	patch  = fasthttp.MethodPatch
	remove = fasthttp.MethodDelete
)

// spots has all paths, those that are more exact first.
var spots = []spot{
	{"/health", map[string]call{get: {anybody, (*Door).health, false}}},
	{"/mercure-info", map[string]call{get: {known, (*Door).mercure, false}}},

	{"/short-urls", map[string]call{get: {door.List, (*Door).list, false}, post: {door.Create, (*Door).create, false}}},
	{"/short-urls/shorten", map[string]call{
		get: {door.Create, (*Door).shorten, true}, patch: {door.Edit, (*Door).edit, false}, remove: {door.Delete, (*Door).delete, false},
	}},
	{"/short-urls/*/visits", map[string]call{get: {figures, (*Door).linkVisits, false}, remove: {door.Edit, (*Door).resetVisits, false}}},
	{"/short-urls/*/redirect-rules", map[string]call{get: {door.Read, (*Door).readRules, false}, post: {door.Edit, (*Door).setRules, false}}},
	{"/short-urls/*/tags", map[string]call{put: {door.Edit, (*Door).setTags, false}}},
	{"/short-urls/*", map[string]call{
		get: {door.Read, (*Door).read, false}, patch: {door.Edit, (*Door).edit, false}, put: {door.Edit, (*Door).edit, false}, remove: {door.Delete, (*Door).delete, false},
	}},

	{"/visits", map[string]call{get: {figures, (*Door).overview, false}}},
	{"/visits/orphan", map[string]call{get: {known, (*Door).orphans, false}, remove: {known, (*Door).deleteOrphans, false}}},
	{"/visits/non-orphan", map[string]call{get: {figures, (*Door).allVisits, false}}},

	{"/tags", map[string]call{get: {door.List, (*Door).tags, false}, put: {door.Edit, (*Door).renameTag, false}, remove: {door.Edit, (*Door).deleteTags, false}}},
	{"/tags/stats", map[string]call{get: {door.List, (*Door).tagStats, false}}},
	{"/tags/*/visits", map[string]call{get: {figures, (*Door).tagVisits, false}}},

	{"/domains", map[string]call{get: {known, (*Door).domains, false}}},
	{"/domains/redirects", map[string]call{patch: {editDomains, (*Door).editRedirects, false}}},
	{"/domains/*/visits", map[string]call{get: {figures, (*Door).domainVisits, false}}},
}

// spotOf returns the spot of a raw path, and what stands for its *; of a path without one, its last part. It is nil if
// there is none. A slash at the end of a path changes nothing.
func spotOf(path string) (s *spot, part string) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, Path), "/")
	switch version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); version {
	case "v1", "v2", "v3":
		path = "/" + rest
	default:
		if path != "/health" {
			return nil, ""
		}
	}
	for i := range spots {
		if part, fits := spots[i].fits(path); fits {
			return &spots[i], part
		}
	}
	return nil, ""
}

func (s *spot) fits(path string) (part string, fits bool) {
	before, after, open := strings.Cut(s.path, "*")
	if !open {
		return path[strings.LastIndexByte(path, '/')+1:], path == s.path
	}
	if len(path) <= len(before)+len(after) {
		return "", false
	}
	part, begins := strings.CutPrefix(path, before)
	part, ends := strings.CutSuffix(part, after)
	return part, begins && ends
}

// callOf returns the call of a method.
func (s *spot) callOf(method string) (c call, found bool) {
	if method == fasthttp.MethodHead {
		c, found = s.calls[get]
		return c, found && !c.byGet
	}
	c, found = s.calls[method]
	return c, found
}

// methods returns the methods of s as Allow names them.
func (s *spot) methods() string {
	var all []string
	for _, method := range []string{get, fasthttp.MethodHead, post, put, patch, remove} {
		if _, found := s.callOf(method); found {
			all = append(all, method)
		}
	}
	return strings.Join(all, ", ")
}
