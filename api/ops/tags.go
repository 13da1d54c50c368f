package ops

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// Limits of changes of tags. A call changes each link that has the tag by itself, some thousand a second,
// and ends after retagPatience, well before a request must: its answer says whether links are left.
const (
	maxRetags       = 4
	maxRetagsCaller = 1
	retagPatience   = 10 * time.Second
	maxRetagged     = 100_000 // links that a call changes, about
)

// A TagQuery asks for a page of tags.
type TagQuery struct {
	Whose  Whose  // whose; never AnyOwner
	Prefix string // of the tags, in any case; empty: all
	Limit  int    // 1 to engine.MaxListedTags; 0: defaultListed
	Cursor string // of the page before; empty: from the first on
}

// A TagPage is a page of tags, in their order regardless of case.
type TagPage struct {
	Data       []Tag   `json:"data"`
	NextCursor *string `json:"next_cursor"` // null: this is the last
}

// A Tag is a tag and the number of links that have it.
type Tag struct {
	Name  string `json:"name"` // as the newest of the links has it
	Links uint64 `json:"links"`
}

// A Retagged is what became of a change of a tag.
type Retagged struct {
	Name     string `json:"name"`     // of the tag: after a rename the new one
	Links    uint64 `json:"links"`    // that were changed by this call
	Complete bool   `json:"complete"` // no link is left; otherwise the same call goes on
}

var tagParameters = map[string]parameterReader[TagQuery]{
	"limit": func(q *TagQuery, value string) (err error) {
		q.Limit, err = readCount(value, engine.MaxListed)
		return err
	},
	"cursor": func(q *TagQuery, value string) error {
		q.Cursor = value
		return nil
	},
	"q": func(q *TagQuery, value string) error {
		q.Prefix = value
		return checkTextParameter(value, engine.MaxTagBytes)
	},
}

var errTagsOfAll = jsonbody.FieldError("owner", "range", "must be a user's id: each user has tags of their own")

// ParseTags reads the parameters of a list of tags.
func (c *Calls) ParseTags(caller account.Caller, p Parameters) (q TagQuery, err error) {
	q.Whose, err = readParameters(c, caller, p, &q, tagParameters, maxTagCursorBytes)
	if err == nil && q.Whose.Anybody {
		err = errTagsOfAll
	}
	return q, err
}

// errNoTag is the error of a tag that no link of the owner has.
var errNoTag = problem.New(problem.NotFound, "no link has this tag")

// ParseTag returns a copy of the tag that a part of a path names, which may be percent-encoded. If no link
// can have it, the error is that of a tag that no link has.
func ParseTag(part string) (string, error) {
	tag, err := url.PathUnescape(part)
	if err != nil {
		return "", errNoTag
	}
	return NamedTag(tag)
}

// NamedTag is ParseTag for a text that is not encoded.
func NamedTag(text string) (string, error) {
	if !utf8.ValidString(text) || checkTag("", text) != nil {
		return "", errNoTag
	}
	return strings.Clone(text), nil
}

// Tags returns a page of tags. It counts in turns with other costly work, for as long as Patience. The
// handler must take a place with BeginHeavy before.
func (c *Calls) Tags(caller account.Caller, q TagQuery) (TagPage, error) {
	switch err := c.mayName(caller, q.Whose); {
	case errors.Is(err, engine.ErrNotFound): // there is no domain
		return TagPage{Data: []Tag{}}, nil
	case err != nil:
		return TagPage{}, err
	}
	asked := engine.TagQuery{Owner: q.Whose.owner(), Prefix: q.Prefix, Limit: cmp.Or(q.Limit, defaultListed)}
	if q.Cursor != "" {
		var ok bool
		if asked.After, ok = decodeTagCursor(q.Cursor); !ok {
			return TagPage{}, errCursor
		}
	}
	found, err := c.o.Engine.ListTagsInTurns(context.Background(), asked, c.turns(caller))
	if err != nil {
		return TagPage{}, err
	}
	page := TagPage{Data: make([]Tag, len(found.Tags))}
	for i := range found.Tags {
		page.Data[i] = Tag{found.Tags[i].Name, found.Tags[i].Links}
	}
	if found.Next != "" {
		cursor := encodeTagCursor(found.Next)
		page.NextCursor = &cursor
	}
	return page, nil
}

// Limits of the tags that most links have.
const (
	maxUsedTags     = 50
	maxUsedTagRows  = 20_000 // rows that are read, one for each tag of a link: some 3 ms, on each page with a form
	maxUsedTagCount = 500    // rows of a tag; so 40 tags that have more links are found, and no count keeps others out

	usedTagPatience = 100 * time.Millisecond // for a core: a form does its work without them
)

// UsedTags returns the tags of the caller that most of the caller's links have, those first. What it reads is bounded,
// whatever the caller has: an owner of more gets the first tags, and of tags with many links no order by them. It is an
// error if no core is free soon. The links are those of the domain that own returns, or else of the first that the
// caller may use. The handler must take a place with BeginHeavy before.
func (c *Calls) UsedTags(caller account.Caller) (names []string, err error) {
	w := c.own(caller)
	if may := c.DomainsOf(caller); len(may) == 0 {
		return nil, nil
	} else if !caller.Domains.Has(w.Domain) {
		w.Domain = may[0].Number
	}
	asked := engine.TagQuery{Owner: w.owner(), Limit: engine.MaxListed, Rows: maxUsedTagRows, TagRows: maxUsedTagCount}
	found, err := c.o.Engine.ListTagsInTurns(context.Background(), asked, func(step func() error) error {
		if err := c.o.Cores.EnterPatiently(KeyOf(caller), maxHeavyWaiting, usedTagPatience); err != nil {
			return err
		}
		defer c.o.Cores.Leave(KeyOf(caller))
		return step()
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found.Tags, func(x, y engine.TagCount) int { return cmp.Compare(y.Links, x.Links) })
	for _, tag := range found.Tags[:min(len(found.Tags), maxUsedTags)] {
		names = append(names, tag.Name)
	}
	return names, nil
}

// A cursor of tags is base64url without padding of its version and the folded form of the last tag of the
// page. It is no secret, and says nothing that the page does not.
const (
	tagCursorVersion  = 1
	maxTagCursorBytes = (1+engine.MaxTagBytes)*4/3 + 3
)

func encodeTagCursor(folded string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{tagCursorVersion}, folded...))
}

func decodeTagCursor(text string) (folded string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2 || len(b) > 1+engine.MaxTagBytes || b[0] != tagCursorVersion {
		return "", false
	}
	folded = string(b[1:])
	return folded, checkText("", folded, engine.MaxTagBytes) == nil && engine.FoldTag(folded) == folded
}

// renamedTag is the body of a rename.
type renamedTag struct{ name string }

var renameFields = jsonbody.NewFields(map[string]jsonbody.Reader[renamedTag]{
	"name": func(r *renamedTag, value json.RawMessage) (err error) {
		if r.name, err = jsonbody.String(value); err != nil {
			return err
		}
		return checkTag("", r.name)
	},
})

// RenameTag renames a tag on all links of w's owner that have it, as body says. If links have a tag of the
// new name already, the two become one.
func (c *Calls) RenameTag(caller account.Caller, w Whose, tag string, body jsonbody.Body) (Retagged, error) {
	if !body.Is(PatchTypes...) {
		return Retagged{}, problem.New(problem.MediaType, "Content-Type must be %s or %s", PatchTypes[0], PatchTypes[1])
	}
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return Retagged{}, err
	}
	var asked renamedTag
	_, _, invalid := jsonbody.Read(members, &asked, renameFields)
	if len(invalid) == 0 && asked.name == "" {
		invalid = append(invalid, jsonbody.FieldError("name", "required", "must be given"))
	}
	if len(invalid) > 0 {
		return Retagged{}, invalid
	}
	return c.editTag(caller, w, engine.TagEdit{Tag: tag, Name: asked.name})
}

// DeleteTag takes a tag off all links of w's owner that have it.
func (c *Calls) DeleteTag(caller account.Caller, w Whose, tag string) (Retagged, error) {
	return c.editTag(caller, w, engine.TagEdit{Tag: tag})
}

// editTag changes a tag. A call that has changed links before it failed says so, and that it is not
// complete, because the caller can only go on.
func (c *Calls) editTag(caller account.Caller, w Whose, x engine.TagEdit) (Retagged, error) {
	if err := c.mayChangeNamed(caller, w); err != nil {
		return Retagged{}, err
	}
	if w.Anybody {
		return Retagged{}, errTagsOfAll
	}
	if err := c.retags.Take(KeyOf(caller)); err != nil {
		return Retagged{}, err
	}
	defer c.retags.Leave(KeyOf(caller))
	ctx, cancel := context.WithTimeout(context.Background(), retagPatience)
	defer cancel()
	x.Owner, x.Limit, x.By = w.owner(), maxRetagged, c.by(caller)
	done, err := c.o.Engine.EditTag(ctx, x)
	if done.Links > 0 {
		c.o.Wrote("update", int(done.Links), nil)
	}
	if errors.Is(err, engine.ErrNotFound) {
		return Retagged{}, errNoTag
	}
	if err != nil {
		c.o.Wrote("update", 1, err)
		if done.Links == 0 {
			return Retagged{}, err
		}
	}
	return Retagged{Name: cmp.Or(x.Name, x.Tag), Links: done.Links, Complete: done.Complete}, nil
}

func addTags(rec *engine.Record, tags []string) error {
	for _, tag := range tags {
		if !engine.HasTag(rec.Cold.Tags, tag) {
			rec.Cold.Tags = append(rec.Cold.Tags, tag)
		}
	}
	return nil
}

func removeTags(rec *engine.Record, tags []string) error {
	rec.Cold.Tags = slices.DeleteFunc(rec.Cold.Tags, func(tag string) bool { return engine.HasTag(tags, tag) })
	return nil
}

// TagsBody returns the body of a change of tags.
func TagsBody(tags []string) jsonbody.Body {
	text, _ := json.Marshal(map[string][]string{"tags": slices.Clone(tags)}) // texts: it cannot fail
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}
}
