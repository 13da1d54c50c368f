package shlink

import (
	"slices"
	"strings"

	"shunt/api/problem"
)

// typeRoot begins the types of Shlink's problems. Clients compare them.
const typeRoot = "https://shlink.io/api/error/"

// A Problem is an error as Shlink's clients read it (RFC 9457), with members of its own for some types.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	InvalidElements []string `json:"invalidElements,omitzero"` // the names of fields
	ExpectedHeaders []string `json:"expectedHeaders,omitempty"`
	Param           string   `json:"param,omitempty"` // the parameter of the query that must have the key

	subject
}

// A subject is what a request is about, as its problems name it.
type subject struct {
	CustomSlug string `json:"customSlug,omitempty"`
	ShortCode  string `json:"shortCode,omitempty"`
	Domain     string `json:"domain,omitempty"`
	Tag        string `json:"tag,omitempty"`
	OldName    string `json:"oldName,omitempty"`
	NewName    string `json:"newName,omitempty"`
}

// problemOf returns p, an error of our own, as Shlink would answer a request about s. What Shlink has no type for keeps
// ours.
func problemOf(p problem.Problem, s subject) Problem {
	body := p.Body()
	answer := Problem{Type: body.Type, Title: body.Title, Status: body.Status, Detail: body.Detail}
	as := func(name string, status int) { answer.Type, answer.Status = typeRoot+name, status }
	switch p.Kind {
	case problem.Unauthorized:
		as("invalid-api-key", 401)
	case problem.Invalid, problem.Blocked:
		as("invalid-data", 400)
		answer.InvalidElements, answer.Detail = elementsOf(p), detailOf(p)
	case problem.MalformedJSON:
		as("malformed-request-body", 400)
	case problem.AliasTaken:
		as("non-unique-slug", 400)
		answer.Title, answer.Detail = "The custom slug is taken", "customSlug"+strings.TrimPrefix(answer.Detail, "alias")
		answer.subject = subject{CustomSlug: s.CustomSlug, Domain: s.Domain}
	case problem.NotFound:
		name, text := s.missing()
		as(name, 404)
		if answer.subject = s; text != "" {
			answer.Detail = text
		}
	case problem.NotImplemented:
		as("mercure-not-configured", 501)
	case problem.Busy:
		as("tag-conflict", 409)
		answer.Title = "Another tag has this name"
		answer.subject = s
	case problem.Method:
		as("method-not-allowed", 405)
	}
	return answer
}

// missing returns the name of the problem that what s names is not there, and says so.
func (s subject) missing() (name, text string) {
	switch {
	case s.ShortCode != "":
		return "short-url-not-found", "there is no such short URL, or it is not yours"
	case s.Tag != "":
		return "tag-not-found", "no short URL of yours has this tag"
	case s.Domain != "":
		return "domain-not-found", "this is not a domain of this server"
	}
	return "not-found", ""
}

// elementsOf returns the names of the fields that are wrong, as Shlink has them.
func elementsOf(p problem.Problem) []string {
	names := []string{}
	for _, e := range p.Fields {
		if name := elementOf(e.Field); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// elementOf returns Shlink's name of a field of ours, or of a part of one: tags[0], rules[0].url.
func elementOf(field string) string {
	if end := strings.IndexAny(field, "[."); end >= 0 {
		field = field[:end]
	}
	return shlinkName(field)
}

// detailOf returns what is wrong with which field, with Shlink's names.
func detailOf(p problem.Problem) string {
	var texts []string
	for _, e := range p.Fields {
		if name := elementOf(e.Field); name != "" {
			e.Message = name + ": " + e.Message
		}
		texts = append(texts, e.Message)
	}
	return strings.Join(texts, "; ")
}
