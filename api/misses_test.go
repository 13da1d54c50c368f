package api

import (
	"strings"
	"testing"

	"shunt/api/redirect"
	"shunt/engine"
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
