package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/redirect"
	"shunt/engine"
	"shunt/engine/expect"
)

func TestMissedCodesAreListedUntilTheyAreTaken(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"gone"}`)
	st.call("DELETE", "/links/gone", "")
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	for i, path := range []string{"/gone", "/later", "/twice/", "/known", "/a//b", "/a.PNG", "/" + strings.Repeat("x", 65), "/%6Bnown", "/known.", "/known&x=y", "/%6Cater)", "/", "/a/b", "/robots.txt.", "/a/b."} {
		for range i + 1 {
			st.get(path, browser)
		}
	}
	send(t, st.publicAt, "HEAD", requestText("HEAD", "/gone", ""))
	const since = `"since":"2026-01-02T03:04:05Z"}` + "\n"
	want := `{"data":[{"code":"a/b","count":28,"error":0},{"code":"later","count":13,"error":0},{"code":"twice","count":3,"error":0},{"code":"gone","count":2,"error":0}],"total":46,` + since
	st.call("GET", "/misses", "").expect(t, "", 200, bodyOf(want), header("Cache-Control", "no-store"))
	st.shorten(`{"url":"http://a/","alias":"twice"}`)
	st.shorten(`{"url":"http://a/","alias":"later"}`)
	st.shorten(`{"url":"http://a/","alias":"a/b"}`)
	want = `{"data":[{"code":"gone","count":2,"error":0}],"total":46,` + since
	st.call("GET", "/misses?top=1", "").expect(t, "top=1, and a code taken", bodyOf(want))
	for _, query := range []string{"top=", "top=0", "top=-1", "top=1001", "top=x", "top=1&top=1", "top=1.5", "top=99999999999999999999", "n=1"} {
		st.call("GET", "/misses?"+query, "").expect(t, "?"+query, 422, problemOf("invalid"))
	}
	st.callAs(st.member("ann@example.com"), "GET", "/misses", "").expect(t, "without scope admin", problemOf("forbidden"))
}

// everyDomain accepts every domain.
func everyDomain(engine.Domain) bool { return true }

// TestMissesAreOfTheDomainThatIsAskedFor asks for unknown codes on three domains, and then removes one of these.
func TestMissesAreOfTheDomainThatIsAskedFor(t *testing.T) {
	st := newSite(t, nil)
	st.withThree()
	dial := doors[0].open(t, st)
	for _, asked := range []string{"a.test/nix", "b.test/nix", "b.test/nix", "www.b.test/nix", "a.test/only-a", "a.test/nix", "other.test/nix"} {
		host, code, _ := strings.Cut(asked, "/")
		expect.Equal(t, askAs(t, dial, host, "/"+code).status, 404, asked)
	}
	const (
		nixOfA = `{"domain":"a.test","code":"nix","count":2,"error":0}`
		onlyA  = `{"domain":"a.test","code":"only-a","count":1,"error":0}`
		nixOfB = `{"domain":"b.test","code":"nix","count":3,"error":0}`
		nix    = `{"code":"nix","count":1,"error":0}`
	)
	wants := func(query, data string, total int) {
		t.Helper()
		want := fmt.Sprintf(`{"data":[%s],"total":%d,"since":"2026-01-02T03:04:05Z"}`+"\n", data, total)
		st.call("GET", "/misses"+query, "").expect(t, query, 200, bodyOf(want))
	}
	wants("", nixOfB+","+nixOfA+","+nix+","+onlyA, 7)
	wants("?domain=a.test", nixOfA+","+onlyA, 3)
	wants("?top=1&domain=A.TEST.", nixOfA, 3)
	wants("?domain=www.b.test", nixOfB, 3)
	wants("?domain=127.0.0.1", nix, 1)
	for query, field := range map[string]string{
		"domain=none.test": "domain:unknown", "domain=": "domain:unknown", "domain=a.test&domain=b.test": "domain:duplicate", "domain=a.test&top=0": "top:range",
		"owner=all": "owner:unknown", "domain=a.test&owner=1": "owner:unknown",
	} {
		st.call("GET", "/misses?"+query, "").expect(t, query, 422, fieldsOf(field))
	}
	st.call("POST", "/shorten", `{"url":"https://a.example/","alias":"nix","domain":"a.test"}`).need(t, "", 201)
	wants("?domain=a.test", onlyA, 3)
	wants("?domain=127.0.0.1", nix, 1)

	// Codes that were asked for on a removed domain are not listed, neither for it nor for the default domain.
	st.call("DELETE", "/links/x?domain=b.test", "").need(t, "the link of b", 204)
	st.call("DELETE", "/domains/b.test", "").need(t, "b", 204)
	wants("", nix+","+onlyA, 4)
	st.call("POST", "/domains", `{"host":"b.test"}`).need(t, "another domain of that host", 201)
	wants("?domain=b.test", "", 0)
}

// BenchmarkMiss measures a request for an unknown code, without the network: only the look-up, the
// decision with its count, and the whole answer.
func BenchmarkMiss(b *testing.B) {
	st := newSite(b, func(o *Options) { o.Now = nil })
	r := redirect.Request{KeyView: keyOf("favicon1").View(), Safe: true, NowMs: 1}
	b.Run("counted=false", func(b *testing.B) {
		for b.Loop() {
			if _, ok := st.engine.Resolve(viewOf(r.Code)); ok || !st.engine.Ready() {
				b.Fatal("found")
			}
			st.redirects.CountPath(engine.DefaultDomain)
		}
	})
	b.Run("counted=true", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, _ := st.redirects.Decide(nil, &r)
			if st.redirects.Commit(d, &r) != redirect.UnknownCode {
				b.Fatal("found")
			}
		}
	})
	b.Run("answered", func(b *testing.B) {
		_, miss := redirectOf(st, "favicon1", "curl/8")
		b.ReportAllocs()
		for b.Loop() {
			miss()
		}
	})
}

// Somebody may send a token where a code belongs, and admins need not see it.
func TestATokenThatWasSentAsACodeIsNotAmongTheMisses(t *testing.T) {
	st := newSite(t, nil)
	for _, path := range []string{"/" + st.token, "/%73hunt_" + st.token[len("shunt_"):], "/mistyped"} {
		st.get(path, browser).expect(t, path, 404)
	}
	st.call("GET", "/misses", "").expect(t, "", without("shunt_"), `"mistyped"`)
}
