package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"shunt/engine/expect"
)

// problems returns the codes that the document has for an answer of this status, nil if it has
// none.
func (o namedOperation) problems(status int) (codes []string) {
	response := o.Responses.Status(status)
	if response == nil {
		return nil
	}
	for _, example := range response.Value.Content["application/problem+json"].Examples {
		codes = append(codes, example.Value.Value.(map[string]any)["code"].(string))
	}
	return codes
}

func (o namedOperation) has(in, parameter string) bool {
	return o.Parameters.GetByInAndName(in, parameter) != nil
}

// An answerRule says which answers every endpoint of some kind can give. The traffic of the tests
// is not enough, because it has only the problems that a test has met.
type answerRule struct {
	status int
	code   string
	when   func(e endpoint, o namedOperation) bool
}

func always(endpoint, namedOperation) bool      { return true }
func hasBody(_ endpoint, o namedOperation) bool { return o.RequestBody != nil }
func hasText(_ endpoint, o namedOperation) bool {
	return o.RequestBody != nil && o.RequestBody.Value.Content["image/png"] == nil
}
func needsCaller(e endpoint, _ namedOperation) bool { return e.scope != noCaller }
func changes(e endpoint, _ namedOperation) bool     { return e.method != http.MethodGet }
func hasIfMatch(_ endpoint, o namedOperation) bool  { return o.has("header", "If-Match") }
func hasKey(_ endpoint, o namedOperation) bool      { return o.has("header", "Idempotency-Key") }
func hasOwner(_ endpoint, o namedOperation) bool    { return o.has("query", "owner") }
func isOfLink(e endpoint, _ namedOperation) bool    { return strings.Contains(e.path, "{code}") }
func isOfOne(e endpoint, _ namedOperation) bool     { return strings.Contains(e.path, "{") }
func needsScope(e endpoint, _ namedOperation) bool  { return e.scope != noCaller && e.scope != anyScope }
func makesOrChanges(e endpoint, _ namedOperation) bool {
	return e.method == http.MethodPost || e.method == http.MethodPatch
}

var answerRules = []answerRule{
	{422, "invalid", always}, {429, "rate_limited", always}, {500, "internal", always},
	{401, "unauthorized", needsCaller}, {403, "https_required", needsCaller}, {403, "forbidden", needsScope},
	{400, "malformed_json", hasText}, {413, "body_too_large", hasBody}, {415, "unsupported_media_type", hasBody},
	{404, "not_found", isOfOne}, {503, "loading", isOfLink}, {403, "forbidden", hasOwner},
	{503, "overloaded", changes}, {503, "outcome_unknown", changes}, {503, "read_only", makesOrChanges},
	{412, "precondition_failed", hasIfMatch}, {400, "bad_request", hasIfMatch},
	{422, "idempotency_mismatch", hasKey}, {400, "bad_request", hasKey},
}

func TestEveryOperationDocumentsWhatItsKindCanAnswer(t *testing.T) {
	byName := make(map[string]namedOperation)
	for o := range theContract().operations() {
		byName[o.name] = o
	}
	for _, e := range new(Server).endpoints() {
		o := byName[e.method+" "+e.path]
		for _, r := range answerRules {
			expect.That(t, !r.when(e, o) || slices.Contains(o.problems(r.status), r.code), "%s does not have %d %s", o.name, r.status, r.code)
		}
		expect.That(t, o.Responses.Default() != nil, "%s does not have what requests that cannot be read are answered", o.name)
	}
}

// neededFields returns the header fields that an answer of a status must have.
var neededFields = map[string][]string{
	"201": {"Location"}, "304": {"ETag"}, "401": {"WWW-Authenticate"}, "429": {"Retry-After"}, "503": {"Retry-After"},
}

func TestEveryAnswerDocumentsTheHeaderFieldsOfItsStatus(t *testing.T) {
	for o := range theContract().operations() {
		for status, response := range o.Responses.Map() {
			needed := slices.Concat(neededFields[status], []string{"RateLimit", "RateLimit-Policy"})
			if status == "default" {
				continue // not a call, so no limit has counted it
			}
			if isLink(response.Value) {
				needed = append(needed, "ETag")
			}
			for _, field := range needed {
				expect.That(t, response.Value.Headers[field] != nil, "%s %s does not have %s", o.name, status, field)
			}
		}
	}
}

func isLink(r *openapi3.Response) bool {
	media := r.Content.Get("application/json")
	return media != nil && media.Schema != nil && refName(media.Schema.Ref) == "Link"
}
