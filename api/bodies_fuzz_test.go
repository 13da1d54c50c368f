package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// bodySeeds are bodies of POST /shorten and PATCH, good and bad.
var bodySeeds = []string{
	`{"url":"http://a/"}`, `{"url":"HTTP://MÜNCHEN.example/%zz?x#é","alias":"b","title":"T","tags":["x","y"],"max_hits":7}`, `{}`,
	`{"url":"https://b/","expires_at":"2031-01-02T03:04:05.678+01:00","redirect_status":308,"forward_query":true}`, `{"url":"http://a/","url":"http://b/"}`,
	`{"title":null,"tags":null,"max_hits":null,"expires_at":null,"redirect_status":null,"forward_query":null}`, `{"url":null}`, `{"title":"\u00e9\ud83d\ude00"}`,
	`{"url":"http://a/","expires_at":"2070-01-01"}`, `{"url":"http://a/","expires_at":"2070-01-01t10:11z"}`, `{"max_hits":1e3}`, `{"max_hits":9007199254740992}`, `{"redirect_status":303}`, `{"tags":["a","a"]}`, `{"tags":["b","B","b"],"url":" example.com/a b "}`, `{"url":"http://a/\u200b"}`, `{"hits":1}`, `[{"url":"http://a/"}]`, `{"url":"http://a/"}x`,
}

// handle returns the API's answer to a request of the admin.
func (st *site) handle(method, path string, body []byte) *fasthttp.Response {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.Header.SetRequestURI("/api/v1" + path)
	req.Header.Set("Authorization", "Bearer "+st.token)
	req.Header.Set("Content-Type", "application/json")
	ctx := parsed(&req, tcpAddr("127.0.0.1"))
	ctx.Request.SetBody(body)
	st.front.handle(ctx)
	return &ctx.Response
}

// linkIn reads the link of an answer, without the fields that change by themselves.
func linkIn(t *testing.T, answer *fasthttp.Response) (o linkObject) {
	t.Helper()
	expect.OK(t, json.Unmarshal(answer.Body(), &o), "%s", answer.Body())
	o.UpdatedAt, o.CreatedAt, o.State, o.Unique = time.Time{}, time.Time{}, "", nil
	return o
}

// wantIn puts into o what encoding/json reads in a body; null is the default. It returns errUnmodelled only if nothing
// else is wrong.
func wantIn(o *linkObject, body []byte, wantField func(o *linkObject, name string, value json.RawMessage) error) (err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	for name, value := range members {
		if e := wantField(o, name, value); e != nil && (err == nil || errors.Is(err, errUnmodelled)) {
			err = fmt.Errorf("%s: %w", name, e)
		}
	}
	return err
}

func (st *site) wantField(o *linkObject, name string, value json.RawMessage) (err error) {
	switch name {
	case "url":
		var target string
		if err = json.Unmarshal(value, &target); err == nil {
			o.URL, err = st.targets.ParseTyped(target) // see FuzzParseTarget and FuzzTypedTargetsAreJudgedLikeOthers
		}
	case "alias":
		return json.Unmarshal(value, &o.Code)
	case "redirect_status":
		o.RedirectStatus = 302
		return json.Unmarshal(value, &o.RedirectStatus)
	case "expires_at":
		o.ExpiresAt, err = wantTime(value, func(day time.Time) time.Time { return day.Add(24*time.Hour - time.Second) })
	case "max_hits":
		o.MaxHits = nil
		return json.Unmarshal(value, &o.MaxHits)
	case "title":
		o.Title = ""
		return json.Unmarshal(value, &o.Title)
	case "tags":
		if err = json.Unmarshal(value, &o.Tags); o.Tags == nil {
			o.Tags = []string{}
		}
		o.Tags = engine.DistinctTags(o.Tags)
	case "forward_query":
		o.ForwardQuery, o.Query = false, "none"
		if err = json.Unmarshal(value, &o.ForwardQuery); o.ForwardQuery {
			o.Query = "append"
		}
	default:
		err = errors.New("is no field")
		if slices.ContainsFunc(ops.Fields(), func(f ops.Field) bool { return f.Name == name }) {
			err = errUnmodelled
		}
	}
	return err
}

// errUnmodelled: wantField does not know what a field does, of which other tests have tables.
var errUnmodelled = errors.New("is not modelled")

// wantPatched does what wantField does, for a PATCH. What a link has may be sent back, and changes nothing.
func (st *site) wantPatched(o *linkObject, name string, value json.RawMessage) error {
	switch name {
	case "alias", "code", "short_url", "owner", "state", "created_at", "updated_at", "hits", "unique":
		return nil
	}
	return st.wantField(o, name, value)
}

// wantTime reads a time in the way of encoding/json, whose letters T and Z may be small and whose
// seconds may be missing, or a date, for which of tells the time.
func wantTime(value json.RawMessage, of func(day time.Time) time.Time) (*time.Time, error) {
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		return nil, err
	}
	if day, err := time.Parse(time.DateOnly, *text); err == nil {
		t := of(day)
		return &t, nil
	}
	large := strings.ToUpper(*text)
	t, err := time.Parse(time.RFC3339, large)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", large)
	}
	t = t.Truncate(time.Millisecond).UTC()
	return &t, err
}

// emptied removes the links of a fuzz test whose input was a finding, so that the inputs after it
// are judged by themselves, as when the finding is made smaller.
func (st *site) emptied(t *testing.T) {
	var all struct{ Links []linkObject }
	expect.OK(t, json.Unmarshal(st.handle("GET", "/links", nil).Body(), &all))
	for _, l := range all.Links {
		st.handle("DELETE", "/links/"+l.Code, nil)
	}
}

// wantRefusal checks that an answer without success is a problem.
func wantRefusal(t *testing.T, body []byte, answer *fasthttp.Response) {
	t.Helper()
	var problem problem.Body
	expect.MustThat(t, json.Unmarshal(answer.Body(), &problem) == nil && problem.Code != "" && problem.Status == answer.StatusCode() &&
		problem.Status/100 == 4, "%q: got %d %s, want a problem of the client's", body, answer.StatusCode(), answer.Body())
}

// FuzzShortenBody: a body that is taken makes one link with what encoding/json reads in it; a body
// that is refused makes none.
func FuzzShortenBody(f *testing.F) {
	for _, seed := range bodySeeds {
		f.Add([]byte(seed))
	}
	st := newSite(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		defer func() {
			if t.Failed() {
				st.emptied(t)
			}
		}()
		answer := st.handle("POST", "/shorten", body)
		made := st.engine.Metrics().Links
		if answer.StatusCode() != 201 {
			if wantRefusal(t, body, answer); made != 0 {
				t.Fatalf("%q: got %d, and %d links", body, answer.StatusCode(), made)
			}
			return
		}
		got := linkIn(t, answer)
		want := linkObject{Code: got.Code, RedirectStatus: 302, Owner: got.Owner, Tags: []string{}, Query: "none"}
		if err := wantIn(&want, body, st.wantField); errors.Is(err, errUnmodelled) {
			st.emptied(t)
			return
		} else if err != nil {
			t.Fatalf("%q is taken: %v", body, err)
		}
		want.ShortURL = st.baseURL + "/" + want.Code
		read := st.handle("GET", "/links/"+got.Code, nil)
		expect.MustThat(t, reflect.DeepEqual(got, want) && reflect.DeepEqual(linkIn(t, read), want) && made == 1 && engine.ValidCode([]byte(got.Code)),
			"%q: made %+v, reads %s, %d links; want %+v", body, got, read.Body(), made, want)
		deleted := st.handle("DELETE", "/links/"+got.Code, nil)
		expect.MustEqual(t, deleted.StatusCode(), 204, "deleting it: %s", deleted.Body())
	})
}

// FuzzPatchBody: a patch that is taken changes the fields that it names, to what encoding/json
// reads, and no others; a patch that is refused changes nothing.
func FuzzPatchBody(f *testing.F) {
	for _, seed := range bodySeeds {
		f.Add([]byte(seed))
	}
	st := newSite(f, nil)
	st.shorten(`{"url":"http://first/","alias":"victim","title":"T","tags":["a"],"max_hits":5,"redirect_status":301,"forward_query":true}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := st.handle("GET", "/links/victim", nil)
		answer := st.handle("PATCH", "/links/victim", body)
		after := st.handle("GET", "/links/victim", nil)
		want := linkIn(t, before)
		if answer.StatusCode() != 200 {
			wantRefusal(t, body, answer)
		} else if err := wantIn(&want, body, st.wantPatched); errors.Is(err, errUnmodelled) {
			return
		} else if err != nil {
			t.Fatalf("%q is taken: %v", body, err)
		}
		got := linkIn(t, after)
		expect.MustThat(t, reflect.DeepEqual(got, want), "%q: got %+v, want %+v", body, got, want)
		unchanged := string(before.Header.Peek("ETag")) == string(after.Header.Peek("ETag"))
		same := reflect.DeepEqual(linkIn(t, before), want)
		expect.MustThat(t, same == unchanged, "%q: the same version: %v, the same fields: %v", body, unchanged, same)
	})
}

// wantImported does what wantField does, for an item of POST /import.
func (st *site) wantImported(o *linkObject, name string, value json.RawMessage) error {
	switch name {
	case "alias":
		return errors.New("is no field")
	case "code":
		return json.Unmarshal(value, &o.Code)
	case "hits":
		return json.Unmarshal(value, &o.Hits)
	case "created_at", "updated_at":
		_, err := wantTime(value, func(day time.Time) time.Time { return day })
		return err
	case "short_url", "state", "owner", "unique":
		return nil
	case "url": // what is valid is kept byte for byte
		var target string
		if json.Unmarshal(value, &target) == nil {
			var err error
			if o.URL, err = st.targets.Parse(target); err == nil {
				return nil
			}
		}
	}
	return st.wantField(o, name, value)
}

// FuzzImportBody does what FuzzShortenBody does, for one or several items of POST /import.
func FuzzImportBody(f *testing.F) {
	for _, seed := range bodySeeds {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"code":"a","url":"http://a/","hits":7,"created_at":"2019-01-02T03:04:05Z","updated_at":null,"state":7,"owner":{},"expires_at":"2020-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"code":"a","url":"http://a/"},{"code":"A","url":"http://b/"},{"code":"a","url":"http://b/"}`))
	st := newSite(f, nil)
	f.Fuzz(func(t *testing.T, item []byte) {
		defer func() {
			if t.Failed() {
				st.emptied(t)
			}
		}()
		body := slices.Concat([]byte("["), item, []byte("]"))
		answer := st.handle("POST", "/import", body)
		var all bulkAnswer
		if answer.StatusCode() != 200 {
			wantRefusal(t, item, answer)
		} else if err := json.Unmarshal(answer.Body(), &all); err != nil {
			t.Fatal(err)
		}
		expect.MustEqual(t, st.engine.Metrics().Links, uint64(all.Created), "%q links, want %d", item, all.Created)
		var items []map[string]json.RawMessage
		if all.Created > 0 && len(all.Results) == 1 {
			expect.OK(t, json.Unmarshal(body, &items), "%q is taken", item)
			want := linkObject{RedirectStatus: 302, Owner: 1, Tags: []string{}, Query: "none"}
			text, err := json.Marshal(items[0])
			expect.OK(t, err)
			if err := wantIn(&want, text, st.wantImported); errors.Is(err, errUnmodelled) {
				st.emptied(t)
				return
			} else if err != nil {
				t.Fatalf("%q is taken: %v", item, err)
			}
			want.ShortURL = st.baseURL + "/" + want.Code
			got := linkIn(t, st.handle("GET", "/links/"+want.Code, nil))
			expect.MustThat(t, reflect.DeepEqual(got, want), "%q: got %+v, want %+v", item, got, want)
		}
		for _, r := range all.Results {
			if r.Status == 201 {
				st.handle("DELETE", "/links/"+r.Link.Code, nil)
			}
		}
		expect.MustEqual(t, st.engine.Metrics().Links, 0, "%q links cannot be deleted", item)
	})
}
