package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
)

// hostileFile has targets that must be refused; its head says how it is read.
const hostileFile = "testdata/hostile-targets.txt"

// A hostileTarget is a line of hostileFile.
type hostileTarget struct {
	line   int
	kind   string
	codes  []string // of right refusals: of a field, or of the request
	target string
}

var repeated = regexp.MustCompile(`\{([^{}]+)\*(\d+)\}`)

func hostileTargets(t *testing.T) (all []hostileTarget) {
	t.Helper()
	f, err := os.Open(hostileFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var kind string
	var codes []string
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if head, found := strings.CutPrefix(line, "# "); found {
			name, words, _ := strings.Cut(head, ": ")
			kind, codes = name, strings.Fields(words)
			continue
		}
		if line == "" {
			continue
		}
		target, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", hostileFile, number, err)
		}
		target = repeated.ReplaceAllStringFunc(target, func(s string) string {
			part := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(part[2])
			return strings.Repeat(part[1], n)
		})
		all = append(all, hostileTarget{number, kind, codes, target})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// waysIn are the requests by which a link gets a target: each sends one, as a string of JSON. A new way in is a line here, if it
// answers with the problem alone.
var waysIn = map[string]func(st *site, url, unique string) reply{
	"POST /shorten": func(st *site, url, _ string) reply { return st.call("POST", "/shorten", `{"url":`+url+`}`) },
	"POST /shorten with an alias": func(st *site, url, unique string) reply {
		return st.call("POST", "/shorten", `{"alias":"n`+unique+`","url":`+url+`}`)
	},
	"POST /shorten with an Idempotency-Key": func(st *site, url, unique string) reply {
		return st.call("POST", "/shorten", `{"url":`+url+`}`, "Idempotency-Key: "+unique)
	},
	"POST /shorten/bulk": func(st *site, url, _ string) reply {
		return itemOf(st.call("POST", "/shorten/bulk", `[{"url":`+url+`}]`))
	},
	"PATCH /links/{code}": func(st *site, url, _ string) reply { return st.call("PATCH", "/links/victim", `{"url":`+url+`}`) },
}

// itemOf returns what became of the one item of a bulk, as the answer of a request of its own.
func itemOf(r reply) reply {
	var all bulkAnswer
	if err := json.Unmarshal([]byte(r.body), &all); err != nil || r.status != 200 || len(all.Results) != 1 {
		return r
	}
	item := all.Results[0]
	text, err := json.Marshal(item.Problem)
	if err != nil {
		panic(err)
	}
	r.status, r.body = item.Status, string(text)
	return r
}

// hostileSite is the server that hostileFile is for.
func hostileSite(t *testing.T) *site {
	list := writeTo(t, "block.txt", []byte("evil.example\nböse.example\n203.0.113.66\n[2001:db8::66]\nhttp://shared.example/bad/\n"))
	return newSite(t, func(o *Options) {
		o.BaseURL, o.PrivateTargets, o.Blocks = "https://xn--bcher-kva.example", "refuse", openBlockFile(t, list, o.Logger)
		o.AllowHTTP = true
	})
}

func TestNoHostileTargetIsAcceptedByAnyWayIn(t *testing.T) {
	targets := hostileTargets(t)
	if len(targets) < 500 {
		t.Fatalf("got %d targets, want at least 500", len(targets))
	}
	st := hostileSite(t)
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	for way, send := range waysIn {
		t.Run(way, func(t *testing.T) {
			for _, h := range targets {
				r := send(st, jsonText(h.target), strconv.Itoa(h.line))
				if code := refusalCode(r); r.status < 400 || !slices.Contains(h.codes, code) {
					t.Errorf("line %d, %s: got %d %q, want one of %v", h.line, h.kind, r.status, code, h.codes)
				}
			}
		})
	}
	if got, want := st.get("/victim").header.Get("Location"), "https://good.example/"; got != want {
		t.Errorf("the link that is there leads to %s, want %s", got, want)
	}
	if n := st.engine.Metrics().Links; n != 1 {
		t.Errorf("got %d links, want the one that was there", n)
	}
}

// refusalCode returns the code of the field url's error, else of the problem; empty if r is none.
func refusalCode(r reply) string {
	if code, found := strings.CutPrefix(r.fields(), "url:"); found {
		return code
	}
	return r.problem()
}

// jsonText returns text as a string of JSON, bytes that are no UTF-8 as they are.
func jsonText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// acceptedTargets draws targets that are to be accepted, hosts in any spelling, and the rest of what addresses are made of and of
// what they should not be made of.
type acceptedTargets struct{ random *rand.Rand }

func (a acceptedTargets) pick(from ...string) string { return from[a.random.IntN(len(from))] }

func (a acceptedTargets) next() string {
	var b strings.Builder
	b.WriteString(a.pick("http://", "https://", "HTTP://", "hTTps://"))
	b.WriteString(a.pick("good.example", "a.good.example", "GOOD.Example.", "xn--mnchen-3ya.example", "münchen.example", "8.8.8.8", "[2001:db9::1]",
		"my_host.example", "-a-.example", "0xacab.org", "intranet", "r3---sn.example", "例え。jp", "ﬀ.example"))
	b.WriteString(a.pick("", "", "", ":", ":80", ":65535", ":00443"))
	for part, mark := range []string{"/", "?", "#"} {
		if a.random.IntN(3) > 0 {
			a.write(b.WriteString, mark, part, a.random.IntN(a.random.IntN(100)+1))
		}
	}
	return b.String()
}

// write writes a mark and n pieces behind it: single bytes that are allowed, escapes, right and wrong, and letters of all kinds. Those
// that would begin the next part are left out of the earlier ones.
func (a acceptedTargets) write(to func(string) (int, error), mark string, part, n int) {
	_, _ = to(mark)
	for range n {
		var piece string
		switch a.random.IntN(8) {
		case 0:
			piece = a.pick("%00", "%0d%0a", "%", "%zz", "%2F", "%25", "..", "//", "./", "<>\"'`{}|^", "&amp;", "http://", "@", ";", "$(x)")
		case 1:
			piece = string(rune(0xa0 + a.random.IntN(0xd800-0xa0)))
		case 2:
			piece = string(rune(0xe000 + a.random.IntN(0x110000-0xe000)))
		default:
			piece = string(rune('!' + a.random.IntN('~'-'!'+1)))
		}
		_, _ = to(strings.NewReplacer("\\", "/", []string{"?", "#", "#"}[part], "-", []string{"#", "#", "#"}[part], "-").Replace(piece))
	}
}

// TestAcceptedTargetsGoOutByteForByte: a few thousand; SHUNTTEST_TARGETS=1000000 (make targets) is the proof.
func TestAcceptedTargetsGoOutByteForByte(t *testing.T) {
	n := 3000
	if text := os.Getenv("SHUNTTEST_TARGETS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	st := newSite(t, func(o *Options) { o.PrivateTargets = "refuse" })
	const writers = 32 // they share commits
	var left atomic.Int64
	left.Store(int64(n))
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			targets := acceptedTargets{rand.New(rand.NewPCG(seed, uint64(w)))}
			for left.Add(-1) >= 0 && !t.Failed() {
				st.wantByteForByte(targets.next())
			}
		})
	}
	writing.Wait()
}

// wantByteForByte makes a link to target by the API, and follows it, both by the handler of the public address.
func (st *site) wantByteForByte(target string) {
	var create fasthttp.Request
	create.Header.SetMethod("POST")
	create.Header.SetRequestURI("/api/v1/shorten")
	create.Header.Set("Authorization", "Bearer "+st.token)
	create.Header.Set("Content-Type", "application/json")
	ctx := parsed(&create, tcpAddr("127.0.0.1"))
	ctx.Request.SetBodyString(`{"url":` + jsonText(target) + `}`)
	st.handlePublic(ctx)
	var o linkObject
	if err := json.Unmarshal(ctx.Response.Body(), &o); err != nil || ctx.Response.StatusCode() != 201 {
		st.t.Errorf("%q is not accepted: %d %s", target, ctx.Response.StatusCode(), ctx.Response.Body())
		return
	}
	ctx, follow := redirectOf(st, o.Code, "")
	follow()
	head := ctx.Response.Header.Header() // the bytes that go out
	_, after, _ := bytes.Cut(head, []byte("\r\nLocation: "))
	location, _, _ := bytes.Cut(after, []byte("\r\n"))
	if !bytes.Equal(location, []byte(storedForm(target))) || o.URL != string(location) || bytes.Count(head, []byte("Location:")) != 1+strings.Count(target, "Location:") {
		st.t.Errorf("%q: got Location %q", target, location)
	}
}

// storedForm is what of a target of acceptedTargets is to go out: all of it as it was sent, but for its host.
func storedForm(target string) string {
	scheme, after, _ := strings.Cut(target, "://")
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	hosts := strings.NewReplacer("GOOD.Example", "good.example", "münchen", "xn--mnchen-3ya", "例え。jp", "xn--r8jz45g.jp", "ﬀ", "ff")
	return scheme + "://" + hosts.Replace(after[:end]) + after[end:]
}
