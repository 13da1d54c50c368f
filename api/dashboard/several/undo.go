package several

import (
	"encoding/json"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
)

// UndoPath is where a form is sent that takes a change of several links back.
const UndoPath = find.Path + "/selected/undo"

// maxUndoBytes bounds the form as it is sent, so that it fits into the body of a request. That is ops.MaxFormers links
// if they were disabled, and some hundred that have long lists of tags.
const maxUndoBytes = 48 << 10

// A former is an ops.Former in the form: an array of the link, of the version, and of the patch if there is one. All of
// them are in one field, because a form may have 256.
type former []any

// Undo returns what is offered after links of a list were changed: to take all of that back. There is none if that
// cannot be, or is too much.
func Undo(r *visit.Request, s *find.Search, back []ops.Former) (u visit.Undo) {
	if len(back) == 0 {
		return u
	}
	all := make([]former, len(back))
	for i, f := range back {
		all[i] = former{Keyed(r, f.Key).Value(), f.Version}
		if f.Patch != nil {
			all[i] = append(all[i], f.Patch)
		}
	}
	text, err := json.Marshal(all)
	if err != nil || len(url.QueryEscape(string(text))) > maxUndoBytes {
		return u
	}
	u = visit.Undo{Path: UndoPath, Fields: append(s.Given(), visit.Parameter{Name: "undo", Value: string(text)})}
	if r.Admin() { // the links may be somebody else's by now
		u.Fields = append(u.Fields, visit.Parameter{Name: "of", Value: "all"})
	}
	return u
}

// asked returns what the form takes back. gone are links that cannot be there for the visitor.
func asked(r *visit.Request) (all []ops.Former, gone uint64, err error) {
	var sent [][]json.RawMessage
	if json.Unmarshal([]byte(r.Sent("undo")), &sent) != nil || len(sent) == 0 {
		return nil, 0, errNoLinks
	}
	for _, one := range sent {
		var link string
		var f ops.Former
		if len(one) < 2 || len(one) > 3 || json.Unmarshal(one[0], &link) != nil || json.Unmarshal(one[1], &f.Version) != nil || f.Version == 0 {
			return nil, 0, errNoLinks
		}
		if len(one) == 3 {
			f.Patch = one[2]
		}
		named, ok := Named(r, link)
		if f.Key = named.Key; !ok {
			gone++
			continue
		}
		all = append(all, f)
	}
	return all, gone, nil
}

var errNoLinks = problem.New(problem.BadRequest, "the form must name links, each with its version and what it had")

// A Refused is a link that was not changed.
type Refused struct {
	Name string // what its owner chose
	Text string // why, a text of ours
}

// undone is what the page shows.
type undone struct {
	Done   *ops.SeveralDone
	Failed string     // why it ended before the last link
	Why    []Refused  // links that were refused
	Rest   visit.Undo // takes back what is left; empty: nothing is
	Back   string     // address of the list
}

// TakeBack is POST /_/links/selected/undo: it takes a change of several links back, and says what became of that. A
// link that somebody has changed since stays as it is.
func TakeBack(r *visit.Request) error {
	search := find.Read(r.Sent)
	w, err := r.Asked(visit.Whose{Owner: r.Sent("of")})
	if err != nil {
		return err
	}
	all, gone, err := asked(r)
	if err != nil {
		return err
	}
	v := undone{Back: search.Address()}
	page, err := r.Once(func() (string, error) {
		done, err := r.Calls.TakeBack(r.Caller, w, all)
		p, known := problem.Of(err)
		if err != nil && (done.Done() == 0 || !known) {
			return "", err
		}
		if err != nil {
			v.Failed = visit.Sentence(p.Detail)
		}
		done.Gone += gone
		v.take(r, &search, &done, all)
		if done.Changed == 0 { // the form may be sent again, once the reason is gone
			return "", nil
		}
		return v.Back, nil
	})
	switch {
	case err != nil:
		return err
	case v.Done == nil:
		r.Say("info", "This was done already.")
		return r.SeeOther(page)
	}
	return r.Show(fasthttp.StatusOK, "links-undone", "Undo", &v)
}

// take puts what became of the links into the view.
func (v *undone) take(r *visit.Request, s *find.Search, done *ops.SeveralDone, all []ops.Former) {
	v.Done = done
	for _, refused := range done.Why {
		v.Why = append(v.Why, Refused{Keyed(r, refused.Key).Name(), refusal(refused.Err)})
	}
	v.Rest = Undo(r, s, all[len(all)-len(done.Left):])
}

// refusal returns why a link was refused, for people.
func refusal(err error) string {
	p, _ := problem.Of(err)
	if len(p.Fields) > 0 {
		return visit.Sentence(p.Fields[0].Message)
	}
	return visit.Sentence(p.Detail)
}
