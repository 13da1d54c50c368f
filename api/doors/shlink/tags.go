package shlink

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// Tags are those of one domain: that of the query, or else that which the caller means without a name, as in our API.

// A TagStats is a tag as a list with figures has it.
type TagStats struct {
	Tag            string  `json:"tag"`
	ShortURLsCount uint64  `json:"shortUrlsCount"`
	VisitsSummary  Summary `json:"visitsSummary"`
	VisitsCount    uint64  `json:"visitsCount"` // which old clients read
}

// unescaped returns a part of a path as text; itself, if it has an escape that is none.
func unescaped(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}

// allTags returns the tags of w that have text in them, in any case, in their order.
func (d *Door) allTags(caller account.Caller, w ops.Whose, text string) (tags []ops.Tag, err error) {
	q := ops.TagQuery{Whose: w, Limit: engine.MaxListed}
	text = strings.ToLower(text)
	for read := 0; ; read += engine.MaxListed {
		if read == maxDepth {
			return nil, problem.New(problem.BadRequest, "there are more than 10,000 tags")
		}
		page, err := d.Ops.Tags(caller, q)
		if err != nil {
			return nil, err
		}
		for _, tag := range page.Data {
			if strings.Contains(strings.ToLower(tag.Name), text) {
				tags = append(tags, tag)
			}
		}
		if page.NextCursor == nil {
			return tags, nil
		}
		q.Cursor = *page.NextCursor
	}
}

// tags is GET /tags.
func (d *Door) tags(a *asked, caller account.Caller) error {
	if a.query.yes("withStats") { // old clients
		return d.tagsWith(a, caller, func(stats []TagStats, p Pagination) any {
			return map[string]any{"data": namesOf(stats), "stats": stats, "pagination": p}
		})
	}
	w, err := d.whose(a, caller)
	if err != nil {
		return err
	}
	p, err := readPlace(a.query, maxDepth, maxDepth)
	if err != nil {
		return err
	}
	all, err := d.allTags(caller, w, a.query.one("searchTerm"))
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if strings.HasSuffix(a.query.one("orderBy"), "-DESC") {
		slices.Reverse(names)
	}
	page, pagination := cut(p, names)
	return show(a, map[string]any{"tags": Paged[string]{append([]string{}, page...), pagination}})
}

func namesOf(stats []TagStats) []string {
	names := make([]string, len(stats))
	for i := range stats {
		names[i] = stats[i].Tag
	}
	return names
}

// tagStats is GET /tags/stats.
func (d *Door) tagStats(a *asked, caller account.Caller) error {
	return d.tagsWith(a, caller, func(stats []TagStats, p Pagination) any { return Paged[TagStats]{stats, p} })
}

// tagsWith answers with tags and their figures, as form makes them. The hits of a tag are the sum of those of its
// links.
func (d *Door) tagsWith(a *asked, caller account.Caller, form func([]TagStats, Pagination) any) error {
	p, err := readPlace(a.query, maxDepth, maxDepth)
	if err != nil {
		return err
	}
	whose, err := d.whose(a, caller)
	if err != nil {
		return err
	}
	all, err := d.sumTags(caller, whose)
	if err != nil {
		return err
	}
	term := strings.ToLower(a.query.one("searchTerm"))
	all = slices.DeleteFunc(all, func(s TagStats) bool { return !strings.Contains(strings.ToLower(s.Tag), term) })
	sortTags(all, a.query.one("orderBy"))
	page, pagination := cut(p, all)
	return show(a, map[string]any{"tags": form(append([]TagStats{}, page...), pagination)})
}

// sumTags returns the tags of whose with their links and hits.
func (d *Door) sumTags(caller account.Caller, whose ops.Whose) (all []TagStats, err error) {
	whose.Every = false // as lists of tags
	at := make(map[string]int)
	err = d.scan(caller, ops.ListQuery{Whose: whose}, func(l *ops.Link) {
		for _, tag := range l.Tags {
			i, found := at[engine.FoldTag(tag)]
			if !found {
				i = len(all)
				at[engine.FoldTag(tag)] = i
				all = append(all, TagStats{Tag: tag})
			}
			all[i].ShortURLsCount++
			all[i].VisitsCount += l.Hits
			all[i].VisitsSummary = summaryOf(all[i].VisitsCount)
		}
	})
	return all, err
}

// sortTags sorts tags by what a client asks for: by their names, if that is nothing, or is not known.
func sortTags(all []TagStats, by string) {
	name, direction, _ := strings.Cut(by, "-")
	slices.SortStableFunc(all, func(a, b TagStats) int {
		order := 0
		switch name {
		case "shortUrlsCount":
			order = cmp.Compare(a.ShortURLsCount, b.ShortURLsCount)
		case "visits", "visitsCount", "nonBotVisits":
			order = cmp.Compare(a.VisitsCount, b.VisitsCount)
		}
		if order = cmp.Or(order, cmp.Compare(engine.FoldTag(a.Tag), engine.FoldTag(b.Tag))); direction == "DESC" {
			return -order
		}
		return order
	})
}

// hasTag reports whether a link of w has a tag.
func (d *Door) hasTag(caller account.Caller, w ops.Whose, tag string) (bool, error) {
	release, err := d.Ops.BeginHeavyPatiently(caller)
	if err != nil {
		return false, err
	}
	defer release()
	page, err := d.Ops.Tags(caller, ops.TagQuery{Whose: w, Prefix: tag, Limit: 1})
	return err == nil && len(page.Data) == 1 && engine.FoldTag(page.Data[0].Name) == engine.FoldTag(tag), err
}

// errTagTaken is the error of a new name that another tag has. Our API makes one tag of the two; Shlink does not.
var errTagTaken = problem.New(problem.Busy, "another tag has this name; delete one of them first")

// renameTag is PUT /tags.
func (d *Door) renameTag(a *asked, caller account.Caller) error {
	old, name, err := readRenaming(a.Ctx.PostBody())
	if err != nil {
		return err
	}
	w, err := d.whose(a, caller)
	if err != nil {
		return err
	}
	a.about = subject{Tag: old}
	if old, err = ops.NamedTag(old); err != nil {
		return err
	}
	if engine.FoldTag(old) != engine.FoldTag(name) {
		taken, err := d.hasTag(caller, w, name)
		if err != nil {
			return err
		}
		if taken {
			a.about = subject{OldName: old, NewName: name}
			return errTagTaken
		}
	}
	var renaming object
	renaming.textMember("name", name)
	changed, err := d.Ops.RenameTag(caller, w, old, renaming.body())
	return finished(a, changed, err)
}

// finished answers a change of a tag.
func finished(a *asked, changed ops.Retagged, err error) error {
	switch {
	case err != nil:
		return err
	case !changed.Complete:
		return errTagsLeft
	}
	return done(a)
}

// errTagsLeft is the error of a change of tags that is not at its end. Whoever sends it again goes on with it.
var errTagsLeft = problem.New(problem.Overloaded, "so many links have the tag that some still have it; send the request again")

func readRenaming(text []byte) (old, name string, err error) {
	members, err := jsonbody.Object(text)
	if err != nil {
		return "", "", err
	}
	var invalid engine.InvalidError
	for _, m := range members {
		switch string(m.Name) {
		case "oldName":
			invalid = jsonbody.AppendError(invalid, "oldName", readText(&old, m.Value))
		case "newName":
			invalid = jsonbody.AppendError(invalid, "newName", readText(&name, m.Value))
		}
	}
	for _, f := range []struct{ name, value string }{{"oldName", old}, {"newName", name}} {
		if len(invalid) == 0 && f.value == "" {
			invalid = append(invalid, jsonbody.FieldError(f.name, "required", "must be given"))
		}
	}
	if len(invalid) > 0 {
		return "", "", invalid
	}
	return old, name, nil
}

// deleteTags is DELETE /tags. It wants the tags as a list, so that a misread query deletes none.
func (d *Door) deleteTags(a *asked, caller account.Caller) error {
	tags := a.query.many("tags")
	if len(tags) == 0 {
		return jsonbody.FieldError("tags", "required", "must be given as a list: tags[]=NAME")
	}
	w, err := d.whose(a, caller)
	if err != nil {
		return err
	}
	end := time.Now().Add(door.Patience)
	for _, text := range tags {
		if time.Now().After(end) {
			return errTagsLeft
		}
		tag, err := ops.NamedTag(text)
		if err != nil {
			continue // as one that is not there
		}
		changed, err := d.Ops.DeleteTag(caller, w, tag)
		switch p, _ := problem.Of(err); {
		case err != nil && p.Kind == problem.NotFound:
		case err != nil || !changed.Complete:
			return finished(a, changed, err)
		}
	}
	return done(a)
}

// tagVisits is GET /tags/{tag}/visits.
func (d *Door) tagVisits(a *asked, caller account.Caller) error {
	a.about = subject{Tag: unescaped(a.part)}
	tag, err := ops.ParseTag(a.part)
	if err != nil {
		return err
	}
	return d.ownerVisits(a, caller, d.hostOf(a.query.one("domain")), tag)
}
