package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/limit"
	"shunt/api/lock"
	"shunt/api/password"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

const typedForm = "Content-Type: application/x-www-form-urlencoded"

// typing is the body of a form with a password.
func typing(text string) string { return "password=" + strings.ReplaceAll(text, " ", "+") }

// cookieOf returns the line that sends the cookie of an answer back; empty: it has none.
func cookieOf(answer string) string {
	_, after, found := strings.Cut(answer, "\r\nSet-Cookie: ")
	if !found {
		return ""
	}
	pair, _, _ := strings.Cut(after, ";")
	return "Cookie: " + pair
}

// unlocked returns the cookie that opens a link, with its name.
func (st *site) unlocked(t testing.TB, code string) []byte {
	id, hash, err := st.engine.Password(keyOf(code))
	expect.NoError(t, err)
	return []byte(lock.Name + "=" + st.redirects.Cookie(redirect.Gate{Key: keyOf(code), ID: id, Lock: extras.LockOf(hash)}, st.now.Load()))
}

// Row 23: nothing tells where a link with a password leads, until the password is typed. Then it redirects for an hour,
// and only it.
func TestAPasswordOpensALinkThroughEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.call("POST", "/domains", `{"host":"b.test"}`).expect(t, "a domain", 201)
		for _, status := range []int{301, 302, 307, 308} {
			r := st.call("POST", "/shorten", fmt.Sprintf(`{"url":"http://secret.example/","domain":"b.test","alias":"x%d","redirect_status":%[1]d,"password":"open sesame","forward_query":true,"title":"t"}`, status))
			r.expect(t, "made", 201, `"has_password":true`, without("sesame"), without("argon2"))
		}
		ask := func(method, path, body string, lines ...string) string {
			text := requestText(method, path, body, append(lines, browser)...)
			return answered(t, dial(), strings.Replace(text, "Host: any.example", "Host: b.test", 1))
		}
		for _, status := range []int{301, 302, 307, 308} {
			path := fmt.Sprint("/x", status)
			for _, suffix := range []string{"", "?a=b", ")", "+"} {
				for _, method := range []string{"GET", "HEAD"} {
					for _, lines := range [][]string{nil, {"Accept: application/json"}, {prefetchLines[0]}, {"Cookie: " + lock.Name + "=" + strings.Repeat("A", 32)}} {
						got := ask(method, path+suffix, "", lines...)
						expect.That(t, strings.HasPrefix(got, "HTTP/1.1 401 ") && !strings.Contains(got, "secret.example") && strings.Contains(got, "no-store") && strings.Contains(got, "\r\nWww-Authenticate: Cookie "),
							"%s %s%s %q: got\n%s", method, path, suffix, lines, got)
					}
				}
			}
			got := ask("GET", path, "")
			expect.That(t, strings.Contains(got, `<form method="post" enctype="text/plain">`) && !strings.Contains(got, "form-action"), "no form that may lead elsewhere: got\n%s", got)
			got = ask("DELETE", path, "")
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 405 ") && strings.Contains(got, "\r\nAllow: GET, HEAD, POST\r\n"), "another method: got\n%s", got)
			for _, wrong := range []string{"", typing("Open sesame"), typing("open sesame "), "other=x", typing(strings.Repeat("x", 2000))} {
				got = ask("POST", path, wrong, typedForm)
				expect.That(t, strings.HasPrefix(got, "HTTP/1.1 401 ") && cookieOf(got) == "" && strings.Contains(got, "not the password"), "%q: got\n%s", wrong, got)
			}
			got = ask("POST", path+"?a=b", typing("open sesame"), typedForm)
			cookie := cookieOf(got)
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 303 ") && location(got) == path+"?a=b" && strings.Contains(got, "\r\nCache-Control: private, no-store\r\n"), "the password: got\n%s", got)
			for _, part := range []string{"Path=" + path, "Max-Age=3600", "HttpOnly", "SameSite=Lax"} {
				expect.That(t, strings.Contains(got, "; "+part), "the cookie lacks %s: got\n%s", part, got)
			}
			st.call("GET", "/stats"+path+"?domain=b.test", "").expect(t, "typing it is no hit", 200, `"hits":0`)
			got = ask("GET", path+"?a=b", "", cookie)
			expect.That(t, strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", status)) && location(got) == "http://secret.example/?a=b" && strings.Contains(got, "\r\nCache-Control: private, no-store\r\n"),
				"with its cookie: got\n%s", got)
			st.call("GET", "/stats"+path+"?domain=b.test", "").expect(t, "one hit", 200, `"hits":1`)
			got = ask("POST", path, typing("open sesame"), typedForm, cookie)
			expect.That(t, strings.HasPrefix(got, "HTTP/1.1 303 "), "a second click sends the password on: got\n%s", got)
			other := fmt.Sprint("/x", map[int]int{301: 302, 302: 307, 307: 308, 308: 301}[status])
			expect.That(t, strings.HasPrefix(ask("GET", other, "", cookie), "HTTP/1.1 401 "), "the cookie opens another link")
			expect.That(t, strings.HasPrefix(ask("GET", path+"+", "", cookie), "HTTP/1.1 401 "), "a preview tells something")
			expect.That(t, strings.HasPrefix(ask("GET", path+".svg", ""), "HTTP/1.1 200 "), "the QR code, which has the short address only")
			if status == 308 {
				st.now.Add(lock.Life.Milliseconds())
				expect.That(t, strings.HasPrefix(ask("GET", path, "", cookie), "HTTP/1.1 401 "), "the cookie opens it after its hour")
			}
		}
		st.call("PATCH", "/links/x302?domain=b.test", `{"password":"another"}`).expect(t, "another password", 200, `"has_password":true`)
		cookie := cookieOf(ask("POST", "/x302", typing("another"), typedForm))
		expect.That(t, strings.HasPrefix(ask("GET", "/x302", "", cookie), "HTTP/1.1 302 "), "the new password does not open it")
		expect.That(t, strings.HasPrefix(ask("POST", "/x302", typing("open sesame"), typedForm), "HTTP/1.1 401 "), "the old password opens it")
		st.call("PATCH", "/links/x302?domain=b.test", `{"password":"another"}`).expect(t, "the same one again", 200)
		expect.That(t, strings.HasPrefix(ask("GET", "/x302", "", cookie), "HTTP/1.1 401 "), "a cookie outlives its password")
		st.call("PATCH", "/links/x302?domain=b.test", `{"password":null}`).expect(t, "none", 200, without("has_password"))
		expect.That(t, strings.HasPrefix(ask("GET", "/x302", ""), "HTTP/1.1 302 "), "a link without a password asks for one")
		st.call("GET", "/audit?code=x302&domain=b.test", "").expect(t, "audit", 200, `"password":"changed"`, `"password":"removed"`, without("sesame"), without("argon2"))
		expect.Equal(t, st.metric(`shunt_unlocks_total{result="opened"}`), "9")
		st.wantNothingSecretLogged()
	})
}

// A form that was open when the link lost its password is not sent on with what was typed; the link is asked for again.
func TestAPasswordIsNeverSentToTheTarget(t *testing.T) {
	st := newSite(t, nil)
	const plain = "Content-Type: text/plain"
	post := func(path, body string, lines ...string) reply {
		return send(t, st.publicAt, "POST", requestText("POST", path, body, append(lines, browser)...))
	}
	for _, status := range []int{301, 302, 307, 308} {
		code := fmt.Sprint("x", status)
		st.shorten(fmt.Sprintf(`{"url":"http://third.example/","alias":%q,"redirect_status":%d,"password":"open = sesame"}`, code, status))
		r := post("/"+code+"?a=b", "password=open = sesame\r\n", plain)
		expect.That(t, r.status == 303 && r.header.Get("Location") == "/"+code+"?a=b", "the form of the page: got %d %v", r.status, r.header)
		expect.Equal(t, post("/"+code, "password=open = sesame\r\n").status, 401, "another type")
		expect.Equal(t, post("/"+code, typing(strings.Repeat("%ff", 400)), typedForm).status, 401, "what is no text")
		st.call("PATCH", "/links/"+code, `{"password":null}`).expect(t, "none", 200)
		r = post("/"+code+"?a=b", "password=open = sesame\r\n", plain)
		expect.That(t, r.status == 303 && r.header.Get("Location") == "/"+code+"?a=b", "the password is gone: got %d %v", r.status, r.header)
		want, hits := 405, 0
		if status >= 307 {
			want, hits = status, 1
		}
		expect.Equal(t, post("/"+code, "a=b", plain).status, want, "another text")
		st.call("GET", "/stats/"+code, "").expect(t, "no hit by a form", 200, fmt.Sprintf(`"hits":%d`, hits))
	}
}

// A path or query after the code of a link with a password does not reveal its target.
func TestALockedLinkIsNoOracle(t *testing.T) {
	st := newSite(t, func(o *Options) { blocking(t, o, "http://secret.example/bad\n") })
	st.shorten(`{"url":"http://secret.example/","alias":"x","forward_path":true,"forward_query":true,"password":"p"}`)
	for _, path := range []string{"/x", "/x/bad", "/x?a", "/x/" + strings.Repeat("y", 8180)} {
		expect.Equal(t, st.get(path, browser).status, 401, "%.30s", path)
	}
	unlock := string(st.unlocked(t, "x"))
	expect.Equal(t, st.get("/x/bad", browser, "Cookie: "+unlock).status, 403, "with its cookie")
}

// Browsers send a cookie to the path as it is written, so that of a code of another script is percent-encoded.
func TestTheCookieOfACodeOfAnyScriptHasItsPath(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{UnicodeCodes: true}})
	st.call("POST", "/shorten", `{"url":"http://a/","domain":"b.test","alias":"über/ß","password":"p"}`).expect(t, "made", 201)
	text := strings.Replace(requestText("POST", "/%C3%BCber/%C3%9F?q", typing("p"), typedForm), "Host: any.example", "Host: b.test", 1)
	r := send(t, st.publicAt, "POST", text)
	expect.That(t, r.status == 303 && r.header.Get("Location") == "/%C3%BCber/%C3%9F?q" && strings.Contains(r.header.Get("Set-Cookie"), "; Path=/%C3%BCber/%C3%9F;"), "got %d %v", r.status, r.header)
}

// A browser that has opened a link opens it in each spelling of its code, in that of the link's address and in the one
// that it was given. It sends a cookie only to the path as it is written.
func TestALinkStaysOpenInEverySpelling(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := newSite(t, d.options(nil))
			st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{Folds: true}})
			for _, alias := range []string{"Promo", "other"} {
				st.call("POST", "/shorten", `{"url":"http://secret.example/","domain":"b.test","alias":"`+alias+`","password":"p"}`).need(t, alias, 201)
			}
			open, site := d.open(t, st), "http://b.test"
			if d.secure {
				site = "https://b.test"
			}
			dial := func(context.Context, string, string) (net.Conn, error) { return open(), nil }
			transport := &http.Transport{DisableKeepAlives: true, DialContext: dial, DialTLSContext: dial}
			for _, spelling := range []string{"/Promo", "/pROMO", "/PROMO/", "/promo).", "/Promo%20", "/promo%E2%80%8B", "/%50romo", "/promo&fbclid=1"} {
				wantOpenAfter(t, transport, site, spelling)
			}
		})
	}
}

// wantOpenAfter opens the link Promo with its password at a spelling, as a browser does that was never there, and asks
// for it in several.
func wantOpenAfter(t *testing.T, transport http.RoundTripper, site, spelling string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	expect.OK(t, err)
	client := &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answered := func(r *http.Response, err error) (status int, location string) {
		t.Helper()
		expect.OK(t, err)
		expect.NoError(t, r.Body.Close())
		return r.StatusCode, r.Header.Get("Location")
	}
	status, _ := answered(client.Get(site + spelling))
	expect.Equal(t, status, 401, "%s at first", spelling)
	status, own := answered(client.PostForm(site+spelling, url.Values{"password": {"p"}}))
	expect.MustThat(t, status == 303 && strings.HasPrefix(own, "/Promo"), "the password at %s: got %d to %s", spelling, status, own)
	for _, path := range []string{own, spelling, "/PROMO", "/Promo?a=b"} {
		status, target := answered(client.Get(site + path))
		expect.That(t, status == 302 && target == "http://secret.example/", "%s after the password at %s: got %d to %s", path, spelling, status, target)
	}
	status, _ = answered(client.Get(site + "/other"))
	expect.Equal(t, status, 401, "another link")
}

// Guesses of one link from one site, each from a network of its own, have a limit, too.
func TestASiteGuessesThePasswordOfALinkFortyTimes(t *testing.T) {
	rules := limit.New(limit.Default(), time.Unix(0, 0))
	tries := 0
	for n := range 100 {
		var a limit.Allowance
		network := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, 0, byte(n)})
		rules.AskUnlock(&a, 7, network)
		if a.Take(time.Unix(1, 0), 1) == 0 {
			tries++
		}
	}
	expect.Equal(t, tries, 40, "guesses")
	var a limit.Allowance
	rules.AskUnlock(&a, 8, netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1}))
	expect.Equal(t, a.Take(time.Unix(1, 0), 1), 0, "another link")
}

// A receipt tells nothing about a password: requests that differ by it only are the same.
func TestAReceiptKnowsNoPassword(t *testing.T) {
	st := newSite(t, nil)
	for path, bodies := range map[string][3]string{
		"/shorten":      {`{"url":"http://a/","password":"one"}`, `{"url":"http://a/","pass\u0077ord":"two"}`, `{"url":"http://b/","password":"one"}`},
		"/shorten/bulk": {`[{"url":"http://a/","password":"one"}]`, `[{"url":"http://a/","password":"two"}]`, `[{"url":"http://b/","password":"one"}]`},
	} {
		key := "Idempotency-Key: receipts-" + path[1:]
		first, again, other := st.call("POST", path, bodies[0], key), st.call("POST", path, bodies[1], key), st.call("POST", path, bodies[2], key)
		expect.That(t, first.status < 300 && again.body == first.body, "%s: got %d %s and %d %s", path, first.status, first.body, again.status, again.body)
		expect.Equal(t, other.status, 422, "%s: another request", path)
	}
}

// Each hash takes 40 ms of a core, so a request that has a receipt gets its answer without one.
func TestARepeatHashesNoPassword(t *testing.T) {
	st := newSite(t, nil)
	ask := func(path, body, key string) reply {
		return known(t, func() reply { return st.call("POST", path, body, "Idempotency-Key: "+key) })
	}
	items := `{"url":"http://a/","password":"one"},{"url":"http://a/","alias":"x","password":"two"},{"url":"http://a/"},{"url":"http://a/","alias":"y","password":"one"}`
	for n := range maxPasswordsOfABulk - 1 {
		items += fmt.Sprintf(`,{"url":"http://a/","password":"more%d"}`, n)
	}
	bodies := map[string]string{"/shorten": `{"url":"http://a/","password":"one"}`, "/shorten/bulk": "[" + items + "]"}
	first := make(map[string]reply)
	for path, body := range bodies {
		first[path] = ask(path, body, "key-of-"+path)
		expect.That(t, first[path].status < 300 && strings.Contains(first[path].body, `"has_password":true`), "%s: got %d %s", path, first[path].status, first[path].body)
	}
	bulk := first["/shorten/bulk"].body
	expect.That(t, strings.Contains(bulk, `"failed":1,`) && strings.Contains(bulk, "too_many"), "a password too many: got %s", bulk)
	for code, text := range map[string]string{"x": "two", "y": "one"} {
		expect.Equal(t, send(t, st.publicAt, "POST", requestText("POST", "/"+code, typing(text), typedForm)).status, 303, "the password of %s", code)
	}
	leave := crowd(t, st.linkWords.Places())
	defer leave()
	for path, body := range bodies {
		wantSame(t, path+", repeated", st.call("POST", path, body, "Idempotency-Key: key-of-"+path), first[path])
		st.call("POST", path, body, "Idempotency-Key: another-of-"+path).expect(t, path+" under another key", 503, problemOf("overloaded"))
	}
}

// maxPasswordsOfABulk is how many different ones its links may have.
const maxPasswordsOfABulk = 16

// Wrong passwords are limited for each link and network: the eleventh is not compared. Others, and other links, go on.
func TestWrongPasswordsAreLimitedForALinkAndANetwork(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.AllowHTTP, o.RateLimits = true, limit.Default()
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for _, alias := range []string{"x", "y"} {
		st.shorten(`{"url":"http://secret.example/","alias":"` + alias + `","password":"right"}`)
	}
	try := func(from, alias, text string) reply {
		return send(t, st.from("10.0.0.1"), "POST", requestText("POST", "/"+alias, typing(text), typedForm, "X-Forwarded-For: "+from))
	}
	for n := range 10 {
		expect.Equal(t, try("192.0.2.1", "x", fmt.Sprint("wrong", n)).status, 401, "try %d", n)
		expect.Equal(t, try("192.0.2.2", "x", "right").status, 303, "the right one from elsewhere, %d", n)
	}
	r := try("192.0.2.1", "x", "right")
	expect.That(t, r.status == 429 && r.header.Get("Retry-After") == "90" && !strings.Contains(r.body, "secret.example"), "the eleventh: got %d %v", r.status, r.header)
	expect.Equal(t, try("192.0.2.1", "y", "right").status, 303, "another link")
	expect.Equal(t, try("192.0.2.2", "x", "right").status, 303, "another network")
	st.now.Add(90_000)
	expect.Equal(t, try("192.0.2.1", "x", "right").status, 303, "one comes back after a while")
	expect.Equal(t, st.metric(`shunt_unlocks_total{result="limited"}`), "1")
}

// crowd takes all places of a turnstile, and all room in its queue. leave gives them back.
func crowd(t *testing.T, places *turnstile.Turnstile) (leave func()) {
	t.Helper()
	var waiting sync.WaitGroup
	for range places.Limits().Places {
		expect.OK(t, places.Enter(turnstile.Key{}))
	}
	for n := range places.Limits().Waiting {
		waiting.Go(func() {
			if key := strangerKey(n); places.Enter(key) == nil {
				places.Leave(key)
			}
		})
	}
	for places.Waiting() < places.Limits().Waiting {
		time.Sleep(time.Millisecond)
	}
	return func() {
		for range places.Limits().Places {
			places.Leave(turnstile.Key{})
		}
		waiting.Wait()
	}
}

// strangerKey is that of the n-th of many visitors, each from a network of its own.
func strangerKey(n int) turnstile.Key {
	return turnstile.Key{Network: netip.AddrFrom4([4]byte{203, 0, byte(113 + n>>8), byte(n)})}
}

// Strangers who try the passwords of links take no place of those who log in. Here they compare passwords all the time:
// all of their places are held, each with a place of the cores that logins need too, and their queue is full.
func TestPasswordsOfLinksKeepNobodyFromLoggingIn(t *testing.T) {
	st, from := floodSite(t)
	places := st.linkWords.Places()
	hash, err := argon2id.CreateHash("right", &argon2id.Params{Memory: 8 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	expect.OK(t, err)
	var over atomic.Bool
	var compared atomic.Int64
	var strangers sync.WaitGroup
	for n := range places.Limits().Places + places.Limits().Waiting {
		strangers.Go(func() {
			for !over.Load() {
				ok, _, err := st.linkWords.Matches(strangerKey(n), "wrong", hash)
				expect.That(t, !ok && (err == nil || err == password.ErrOverloaded), "got %v, %v", ok, err)
				compared.Add(1)
			}
		})
	}
	defer strangers.Wait()
	defer over.Store(true)
	for n := range 5 {
		for places.Waiting() < places.Limits().Waiting || compared.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		expect.Equal(t, places.Held(), places.Limits().Places, "places that strangers hold")
		expect.Equal(t, from(fmt.Sprint("192.0.2.", n)).logIn("ann@example.com", goodPassword), 200, "login %d", n)
	}
}

// A password for which there was no place is not counted as one that was wrong.
func TestAPasswordThatWasNotComparedIsNotCounted(t *testing.T) {
	st, from := floodSite(t)
	st.shorten(`{"url":"http://a/","alias":"x","password":"right"}`)
	proxy := st.from("10.0.0.1")
	try := func() reply {
		return send(t, proxy, "POST", requestText("POST", "/x", typing("right"), typedForm, "X-Forwarded-For: 192.0.2.9"))
	}
	leave := crowd(t, st.linkWords.Places())
	for n := range 11 { // the limit is ten
		r := try()
		expect.That(t, r.status == 503 && !strings.Contains(r.body, "not the password"), "try %d: got %d %s", n, r.status, r.body)
	}
	expect.Equal(t, from("192.0.2.1").logIn("ann@example.com", goodPassword), 200, "a login meanwhile")
	leave()
	expect.Equal(t, try().status, 303, "with a place again")
}

func TestAPasswordOfALinkIsNeverShown(t *testing.T) {
	st := newSite(t, nil)
	for body, want := range map[string]string{
		`""`: "password:required", `7`: "password:type", `"` + strings.Repeat("x", 257) + `"`: "password:too_long", `"a\nb"`: "password:characters",
	} {
		r := st.call("POST", "/shorten", `{"url":"http://a/","password":`+body+`}`)
		expect.Equal(t, r.fields(), want, "%s: got %d", body, r.status)
	}
	made := st.shorten(`{"url":"http://a/","alias":"x","password":"open sesame"}`)
	expect.That(t, made.HasPassword, "got %+v", made)
	r := st.call("POST", "/shorten", `{"url":"http://a/","password":"p","reuse":true}`)
	expect.Equal(t, r.fields(), "reuse:conflict", "a password cannot be compared: got %d", r.status)
	r = st.call("POST", "/shorten", `{"url":"http://a/","alias":"x","password":"open sesame"}`)
	expect.Equal(t, r.status, 409, "the same link, perhaps: got %s", r.body)
	const key = "Idempotency-Key: abcdefgh-1"
	first := st.call("POST", "/shorten", `{"url":"http://a/","password":"p"}`, key)
	again := st.call("POST", "/shorten", `{"url":"http://a/","password":"p"}`, key)
	expect.That(t, first.status == 201 && again.status == 201 && first.body == again.body, "repeated: got %d %s after %s", again.status, again.body, first.body)
	st.call("PATCH", "/links/x", `{"has_password":true,"title":"t"}`).expect(t, "as it was read", 200)
	st.call("PATCH", "/links/x", `{"has_password":false}`).expect(t, "read-only", 422, "send password")
	st.call("PATCH", "/links/x", `{"password_hash":"x"}`).expect(t, "read-only", 422)
	bulk := st.call("POST", "/shorten/bulk", `[{"url":"http://a/","alias":"b1","password":"p"},{"url":"http://a/","alias":"b2","password":"p"},{"url":"http://a/","alias":"b3"}]`)
	expect.Equal(t, strings.Count(bulk.body, `"has_password":true`), 2, "a bulk: %s", bulk.body)
	many := strings.Builder{}
	for n := range 17 {
		fmt.Fprintf(&many, `,{"url":"http://a/","password":"p%d"}`, n)
	}
	bulk = st.call("POST", "/shorten/bulk", "["+many.String()[1:]+"]")
	expect.That(t, strings.Count(bulk.body, `"has_password":true`) == 16 && strings.Contains(bulk.body, "too_many"), "17 passwords: %s", bulk.body)
	for _, path := range []string{"/links", "/links/x", "/export", "/audit", "/stats/x"} {
		st.call("GET", path, "").expect(t, path, 200, without("argon2"), without("sesame"))
	}
	st.call("DELETE", "/links/x", "").expect(t, "deleted", 204)
}

// A link with a password that is exported without its hash is never imported as an open link.
func TestAPasswordMovesWithItsHash(t *testing.T) {
	st, other := newSite(t, nil), newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","password":"open sesame"}`)
	exported := st.call("GET", "/export", "")
	exported.expect(t, "an export", 200, `"has_password":true`, without("argon2"))
	plain := exported.body
	item := itemOf(other.call("POST", "/import", "["+strings.TrimSpace(plain)+"]"))
	expect.Equal(t, item.fields(), "password_hash:required", "without its hash")
	member := st.tokenOfNew("ann@example.com", account.RoleMember, account.LinksRead)
	expect.Equal(t, st.callAs(member, "GET", "/export?include=password_hash", "").status, 403, "a member")
	exported = st.call("GET", "/export?include=password_hash,unique", "")
	exported.expect(t, "with hashes", 200, `"password_hash":"$argon2id$v=19$`)
	whole := exported.body
	writer := other.tokenOfNew("ann@example.com", account.RoleMember, account.LinksWrite)
	expect.Equal(t, other.callAs(writer, "POST", "/import", "["+strings.TrimSpace(whole)+"]").status, 403, "a member imports a hash")
	other.call("POST", "/import", "["+strings.TrimSpace(whole)+"]").expect(t, "imported", 200, `"created":1`)
	other.call("POST", "/import", "["+strings.TrimSpace(whole)+"]").expect(t, "again", 200, `"existing":1`)
	expect.Equal(t, other.get("/x", browser).status, 401, "where it was imported")
	expect.Equal(t, send(t, other.from("192.0.2.1"), "POST", requestText("POST", "/x", typing("open sesame"), typedForm)).status, http.StatusSeeOther, "its password")
	costly := strings.Replace(whole, ",t=", ",t=9", 1)
	item = itemOf(other.call("POST", "/import", "["+strings.TrimSpace(strings.Replace(costly, `"code":"x"`, `"code":"y"`, 1))+"]"))
	expect.Equal(t, item.fields(), "password_hash:format", "a hash that costs too much")
}

// The form of a link shows dots in place of a password, of which there is only a hash: an edit that leaves them keeps
// the password, and one that deletes them takes it away. A copy of the link needs one of its own.
func TestFormsEditPasswords(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "s", "password", "open sesame")).want("The link is ready.")
	opens := func(text string) bool {
		return send(t, st.from("192.0.2.1"), "POST", requestText("POST", "/s", typing(text), typedForm)).status == 303
	}
	expect.That(t, opens("open sesame"), "the password of a form")
	b.open("/_/link/s").want("Password visitors must type it")
	edit := func(fields ...string) *shown {
		return b.submit(b.open("/_/link/s/edit").form("/_/link/s/edit").with(fields...))
	}
	expect.That(t, !strings.Contains(b.open("/_/link/s/edit").body, "sesame"), "the form has the password")
	edit("title", "T")
	expect.That(t, opens("open sesame"), "an edit of the title changed the password")
	got := edit("password", "••••••••x")
	expect.That(t, got.status == 422 && strings.HasPrefix(got.at("link-password-error"), "Must be typed again"), "beside the dots: got %d %q", got.status, got.at("link-password-error"))
	edit("password", "another")
	expect.That(t, opens("another") && !opens("open sesame"), "another password")
	copied := b.open("/_/links/new?like=s").form("/_/links/new")
	got = b.submit(copied.with("alias", "s2"))
	expect.That(t, got.status == 422 && got.at("link-password-error") != "", "a copy without a password: got %d", got.status)
	edit("password", "")
	expect.Equal(t, st.get("/s", browser).status, 302, "without a password")
	st.call("GET", "/audit?code=s", "").expect(t, "audit", 200, `"password":"changed"`, `"password":"removed"`, without("another"), without("sesame"))
}
