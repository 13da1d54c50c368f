// Command clients makes, lists, edits and deletes links through the client that oapi-codegen makes
// of openapi.json. make openapi-clients puts that client into shuntapi/, builds this and runs it.
// At the first surprise it ends with exit code 1.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"clients/shuntapi"
)

func main() {
	api, err := shuntapi.NewClientWithResponses(os.Getenv("SHUNT_URL")+"/api/v1", shuntapi.WithRequestEditorFn(withToken))
	must(err)
	u := &user{context.Background(), api}
	tag := u.create()
	u.meetProblems()
	u.list()
	u.edit(tag)
	u.readFigures()
	u.createSeveral()
	u.delete()
}

func withToken(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+os.Getenv("SHUNT_TOKEN"))
	return nil
}

func must(err error) {
	want(err == nil, "%v", err)
}

func want(ok bool, format string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
}

// A user is somebody with the generated client.
type user struct {
	ctx context.Context
	api *shuntapi.ClientWithResponses
}

const (
	alias   = "go-client"
	target  = "https://example.org/a/long/address?utm_source=print"
	maxHits = 1 << 40 // more than 32 bits have
)

var expiry = time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)

// create makes a link and returns its entity tag.
func (u *user) create() string {
	r, err := u.api.CreateLinkWithResponse(u.ctx, &shuntapi.CreateLinkParams{}, shuntapi.NewLink{
		Url:            target,
		Alias:          nullable.NewNullableWithValue(alias),
		RedirectStatus: nullable.NewNullableWithValue(shuntapi.MovedPermanently),
		ExpiresAt:      nullable.NewNullableWithValue(expiry.Format(time.RFC3339)),
		MaxHits:        nullable.NewNullableWithValue[int64](maxHits),
		Tags:           nullable.NewNullableWithValue([]string{"print"}),
		Title:          nullable.NewNullNullable[string](),
	})
	must(err)
	want(r.JSON201 != nil && r.Headers201 != nil, "create: %s %s", r.Status(), r.Body)
	l := *r.JSON201
	want(l.Code == alias && l.Url == target && l.RedirectStatus == shuntapi.MovedPermanently, "created: %+v", l)
	want(l.State == shuntapi.LinkStateActive && l.Title == "" && slices.Equal(l.Tags, []string{"print"}), "created: %+v", l)
	want(l.ExpiresAt.MustGet().Equal(expiry) && l.MaxHits.MustGet() == maxHits && l.Hits == 0 && l.Unique == nil, "created: %+v", l)
	want(r.Headers201.Location == "/api/v1/links/"+alias, "created at %s", r.Headers201.Location)
	return r.Headers201.ETag
}

// meetProblems: each is of the one type Problem, with a code out of a closed set.
func (u *user) meetProblems() {
	taken, err := u.api.CreateLinkWithResponse(u.ctx, nil, shuntapi.NewLink{
		Url: "https://example.org/other", Alias: nullable.NewNullableWithValue(alias),
	})
	must(err)
	p := taken.ApplicationproblemJSON409
	want(p != nil && p.Code == shuntapi.ProblemCodeAliasTaken && p.Status == 409, "taken: %s %s", taken.Status(), taken.Body)
	invalid, err := u.api.CreateLinkWithResponse(u.ctx, nil, shuntapi.NewLink{Url: "ftp://example.org/"})
	must(err)
	p = invalid.ApplicationproblemJSON422
	want(p != nil && p.Code == shuntapi.ProblemCodeInvalid && p.Errors != nil, "invalid: %s %s", invalid.Status(), invalid.Body)
	first := (*p.Errors)[0]
	want(first.Field == "url" && first.Code == shuntapi.FieldErrorCodeScheme, "invalid: %+v", first)
}

// list goes through all links, one a page.
func (u *user) list() {
	one, include := 1, []shuntapi.LinkPart{shuntapi.LinkPartUnique}
	var found []string
	params := &shuntapi.ListLinksParams{Limit: &one, Include: &include}
	for {
		r, err := u.api.ListLinksWithResponse(u.ctx, params)
		must(err)
		want(r.JSON200 != nil, "list: %s %s", r.Status(), r.Body)
		for _, l := range r.JSON200.Data {
			want(l.Unique != nil && *l.Unique == 0, "listed: %+v", l)
			found = append(found, l.Code)
		}
		if r.JSON200.NextCursor.IsNull() {
			break
		}
		next := r.JSON200.NextCursor.MustGet()
		params.Cursor = &next
	}
	want(slices.Equal(found, []string{alias}), "listed: %v", found)
}

// edit sets a field, resets one by null and leaves the others; an entity tag that has passed
// changes nothing.
func (u *user) edit(tag string) {
	patch := shuntapi.LinkPatch{
		Title:     nullable.NewNullableWithValue("From Go"),
		ExpiresAt: nullable.NewNullNullable[string](),
	}
	r, err := u.api.PatchLinkWithResponse(u.ctx, alias, &shuntapi.PatchLinkParams{IfMatch: &tag}, patch)
	must(err)
	want(r.JSON200 != nil, "edit: %s %s", r.Status(), r.Body)
	l := *r.JSON200
	want(l.Title == "From Go" && l.ExpiresAt.IsNull(), "edited: %+v", l)
	want(l.Url == target && l.MaxHits.MustGet() == maxHits && slices.Equal(l.Tags, []string{"print"}), "edited: %+v", l)
	late, err := u.api.PatchLinkWithApplicationMergePatchPlusJSONBodyWithResponse(
		u.ctx, alias, &shuntapi.PatchLinkParams{IfMatch: &tag}, shuntapi.LinkPatch{Title: nullable.NewNullableWithValue("late")})
	must(err)
	p := late.ApplicationproblemJSON412
	want(p != nil && p.Code == shuntapi.ProblemCodePreconditionFailed, "late: %s %s", late.Status(), late.Body)
}

func (u *user) readFigures() {
	day, include := shuntapi.Day, []shuntapi.StatsPart{shuntapi.StatsPartBots, shuntapi.StatsPartError}
	r, err := u.api.ReadStatsWithResponse(u.ctx, alias, &shuntapi.ReadStatsParams{Interval: &day, Include: &include})
	must(err)
	want(r.JSON200 != nil, "figures: %s %s", r.Status(), r.Body)
	s := r.JSON200
	want(s.Hits == 0 && s.Unique == 0 && s.Series != nil && s.Bots != nil && s.Error != nil && s.Browsers == nil, "figures: %s", r.Body)
}

// createSeveral makes a link and fails at another: a result is one of two types.
func (u *user) createSeveral() {
	r, err := u.api.CreateLinksWithResponse(u.ctx, nil, []shuntapi.NewLink{
		{Url: target, Alias: nullable.NewNullableWithValue(alias + "-2")}, {Url: "ftp://example.org/"},
	})
	must(err)
	want(r.JSON200 != nil && r.JSON200.Created == 1 && r.JSON200.Failed == 1, "several: %s %s", r.Status(), r.Body)
	made, err := r.JSON200.Results[0].AsBulkLink()
	must(err)
	want(made.Status == shuntapi.BulkLinkStatusCreated && made.Link.Code == alias+"-2", "several: %+v", made)
	refused, err := r.JSON200.Results[1].AsBulkProblem()
	must(err)
	want(refused.Index == 1 && refused.Problem.Code == shuntapi.ProblemCodeInvalid, "several: %+v", refused)
}

func (u *user) delete() {
	for _, code := range []string{alias, alias + "-2"} {
		r, err := u.api.DeleteLinkWithResponse(u.ctx, code, nil)
		must(err)
		want(r.StatusCode() == http.StatusNoContent, "delete: %s %s", r.Status(), r.Body)
	}
	r, err := u.api.ReadLinkWithResponse(u.ctx, alias, nil)
	must(err)
	p := r.ApplicationproblemJSON404
	want(p != nil && p.Code == shuntapi.ProblemCodeNotFound, "deleted: %s %s", r.Status(), r.Body)
}
