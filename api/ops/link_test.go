package ops

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// linkObject is the link object as encoding/json wrote it before AppendJSON did.
type linkObject struct {
	Code           string       `json:"code"`
	ShortURL       string       `json:"short_url"`
	URL            string       `json:"url"`
	RedirectStatus int          `json:"redirect_status"`
	State          engine.State `json:"state"`
	Owner          uint32       `json:"owner"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ExpiresAt      *time.Time   `json:"expires_at"`
	MaxHits        *uint64      `json:"max_hits"`
	Title          string       `json:"title"`
	Tags           []string     `json:"tags"`
	ForwardQuery   bool         `json:"forward_query"`
	Hits           uint64       `json:"hits"`
	Unique         *uint64      `json:"unique,omitempty"`
}

// encodedLink returns the link object as encoding/json writes it.
func encodedLink(l *Link) []byte {
	o := linkObject{
		Code: l.Code, ShortURL: l.ShortURL, URL: l.Target, RedirectStatus: l.RedirectStatus, State: l.State, Owner: l.Owner,
		CreatedAt: l.CreatedAt.UTC(), UpdatedAt: l.UpdatedAt.UTC(), Title: l.Title, Tags: l.Tags, ForwardQuery: l.ForwardQuery, Hits: l.Hits,
	}
	if o.Tags == nil {
		o.Tags = []string{}
	}
	if !l.ExpiresAt.IsZero() {
		expires := l.ExpiresAt.UTC()
		o.ExpiresAt = &expires
	}
	if l.MaxHits != 0 {
		o.MaxHits = &l.MaxHits
	}
	if l.Counted {
		o.Unique = &l.Unique
	}
	return encoded(o)
}

// onlyKnown removes the fields that linkObject does not have from the table, until the test's end.
func onlyKnown(t *testing.T) {
	whole := table
	t.Cleanup(func() { table = whole })
	known := make(map[string]bool)
	for i := range reflect.TypeFor[linkObject]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[linkObject]().Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	table = slices.DeleteFunc(slices.Clone(whole), func(f row) bool { return !known[f.name] })
}

var (
	anyText   = rapid.OneOf(rapid.String(), rapid.StringN(0, 20, -1), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	anyMoment = rapid.Map(rapid.Int64Range(0, 253_402_300_799_999), func(ms int64) time.Time { return time.UnixMilli(ms) })
)

// drawLink draws a link with any values, also those that no link has.
func drawLink(t *rapid.T) Link {
	l := Link{ShortURL: anyText.Draw(t, "short url"), Counted: rapid.Bool().Draw(t, "counted"), Detail: engine.Detail{
		Key: keyOf(anyText.Draw(t, "code")), Owner: rapid.Uint32().Draw(t, "owner"), Target: anyText.Draw(t, "target"),
		RedirectStatus: rapid.Int().Draw(t, "status"), ForwardQuery: rapid.Bool().Draw(t, "forward"),
		State: engine.State(anyText.Draw(t, "state")), MaxHits: rapid.Uint64().Draw(t, "cap"),
		CreatedAt: anyMoment.Draw(t, "created"), UpdatedAt: anyMoment.Draw(t, "updated"), Texts: engine.Texts{Title: anyText.Draw(t, "title")},
		Tags: rapid.SliceOfN(anyText, 0, 4).Draw(t, "tags"), Hits: rapid.Uint64().Draw(t, "hits"), Unique: rapid.Uint64().Draw(t, "unique"),
	}}
	if rapid.Bool().Draw(t, "expires") {
		l.ExpiresAt = anyMoment.Draw(t, "expiry")
	}
	return l
}

func TestALinkObjectHasTheBytesOfEncodingJSON(t *testing.T) {
	onlyKnown(t)
	rapid.Check(t, func(t *rapid.T) {
		l := drawLink(t)
		got, want := l.AppendJSON(nil), encodedLink(&l)
		expect.MustThat(t, bytes.Equal(got, want), "got\n%s\nwant\n%s", got, want)
	})
	for c := range 256 { // each alone and before others
		l := Link{Detail: engine.Detail{Texts: engine.Texts{Title: string([]byte{byte(c)})}, Target: "x" + string(rune(c)) + "\u2028<&>\xff\u2029"}}
		got, want := l.AppendJSON(nil), encodedLink(&l)
		expect.That(t, bytes.Equal(got, want), "got\n%s\nwant\n%s", got, want)
	}
}

// listOf returns a page of n typical links.
func listOf(n int) []Link {
	links := make([]Link, n)
	for i := range links {
		code := fmt.Sprintf("code%04d", i)
		links[i] = Link{ShortURL: "https://sho.rt/" + code, Detail: engine.Detail{
			Key: keyOf(code), Owner: 1, Target: "https://example.org/" + strings.Repeat("path/", 12) + code, RedirectStatus: 302, State: engine.StateActive,
			CreatedAt: time.UnixMilli(1_767_322_000_123), UpdatedAt: time.UnixMilli(1_767_322_000_123), Texts: engine.Texts{Title: "Größe 1"}, Tags: []string{"a", "b"}, Hits: 7,
		}}
	}
	return links
}

func BenchmarkLinkObjects(b *testing.B) {
	links := listOf(1000)
	for name, write := range map[string]func(dst []byte, l *Link) []byte{
		"impl=table": func(dst []byte, l *Link) []byte { return l.AppendJSON(dst) },
		"impl=json":  func(dst []byte, l *Link) []byte { return append(dst, encodedLink(l)...) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst := make([]byte, 0, linkBytes*len(links))
				for i := range links {
					dst = write(dst, &links[i])
				}
			}
		})
	}
}

func TestIfMatchHasFewVersions(t *testing.T) {
	for value, want := range map[string]string{
		`"3"`: "[3]", ` "3" , "3","4"`: "[3 4]", `*`: "[]", `"1", *`: "[]", "": "[18446744073709551615]", strings.Repeat(",", 10_000): "[18446744073709551615]",
		`W/"3",3,"03","0","-1"`: "[18446744073709551615]",
	} {
		expect.Equal(t, fmt.Sprint(ParseVersions([][]byte{[]byte(value)})), want, "%.40q", value)
	}
	var many strings.Builder
	for v := range 100 {
		fmt.Fprintf(&many, "%q,", strconv.Itoa(v+1))
	}
	got := ParseVersions([][]byte{[]byte(many.String())})
	expect.That(t, len(got) == maxVersions && got[0] == 1 && got[maxVersions-1] == maxVersions, "got %v", got)
}
