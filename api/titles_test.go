package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"shunt/api/account"
	"shunt/api/fetch"
	"shunt/engine"
	"shunt/engine/expect"
)

// fetching lets a site ask for pages, also at an address of this machine that counts as public in tests, to which all
// names lead.
func fetching(o *Options) {
	here := netip.MustParseAddr("127.0.0.2")
	o.Fetch = fetch.New(fetch.Options{
		Public:   func(a netip.Addr) bool { return a.Unmap() == here || engine.PublicAddr(a) },
		Resolver: namesLeadTo(here),
	})
}

// namesLeadTo returns a resolver to which all names lead to an address.
func namesLeadTo(to netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return answeringNames(to), nil }}
}

// answeringNames returns a connection to a server that answers one question about a name.
func answeringNames(to netip.Addr) net.Conn {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		var length [2]byte // over a stream, as a pipe is one
		if _, err := io.ReadFull(far, length[:]); err != nil {
			return
		}
		question := make([]byte, int(length[0])<<8|int(length[1]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(far, question); err != nil || m.Unpack(question) != nil {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: to.As4()}}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = far.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
		}
	}()
	return near
}

// servePage serves a page, and returns an address of it.
func servePage(t *testing.T, text string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	expect.OK(t, err)
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, text)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "http://page.test:" + port + "/"
}

// servePageWithIcon serves a page whose icon is a picture of one color, with a note in its file; it returns an address
// of the page, and the file.
func servePageWithIcon(t *testing.T, text, note string) (address string, file []byte) {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(color.RGBA{200, 30, 40, 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, picture))
	chunk := append([]byte("tEXtComment\x00"), note...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	end := b.Len() - 12 // of the chunk IEND
	file = slices.Concat(b.Bytes()[:end], binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-8)), chunk, b.Bytes()[end:])
	return serveAs(t, map[string][]byte{"/": []byte(text), "/i.png": file}), file
}

// serveAs serves files, and returns the address of the first one.
func serveAs(t *testing.T, files map[string][]byte) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	expect.OK(t, err)
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, found := files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", map[bool]string{true: "image/png", false: "text/html"}[strings.HasSuffix(r.URL.Path, ".png")])
		_, _ = w.Write(file)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "http://page.test:" + port + "/"
}

func TestTitlesAreFetchedOnlyIfTheServerMay(t *testing.T) {
	st, b := withAnn(t, nil)
	st.call("POST", "/titles", `{"url":"https://example.org/"}`).expect(t, "off", 403, problemOf("forbidden"), "--fetch-titles")
	expect.That(t, !strings.Contains(b.open("/_/links/new").body, "Fetch the title"), "a button that does nothing")
}

func TestATitleIsFetched(t *testing.T) {
	st := newSite(t, fetching)
	address := servePage(t, "<title>Grüße &amp; mehr</title>")
	st.call("POST", "/titles", fmt.Sprintf(`{"url":%q}`, " "+address)).expect(t, "a title", 200, `"title":"Grüße & mehr"`, `"icon":null`)
	for body, want := range map[string]string{
		`{}`: "url:required", `{"url":1}`: "url:type", `{"url":"x","y":1}`: "y:unknown", `{"url":"javascript:alert(1)"}`: "url:scheme",
		`{"url":"http://169.254.169.254/"}`: "url:private", `{"url":"http://[::1]/"}`: "url:private", `{"url":"http://0x7f000001/"}`: "url:private", `{"url":"http://localhost/"}`: "url:private",
		`{"url":"http://127.0.0.1:8080/x"}`:                            "url:private",
		fmt.Sprintf(`{"url":"%sto?http://169.254.169.254/"}`, address): "url:private", fmt.Sprintf(`{"url":"%sto?http://localhost/"}`, address): "url:private",
		fmt.Sprintf(`{"url":"%sto?file:///etc/passwd"}`, address): "url:scheme",
		`{"url":"http://page.test:1/"}`:                           "url:unreachable",
	} {
		st.call("POST", "/titles", body).expect(t, body, 422, fieldsOf(want))
	}
}

// The icon is in the answer, as this server has drawn it; only this answer may have an image that is part of a page.
func TestAFormShowsTheIconOfItsTarget(t *testing.T) {
	st := newSite(t, fetching)
	b := st.browseAs("ann@example.com", account.RoleMember)
	const note = "</img><script>alert(1)</script>"
	address, file := servePageWithIcon(t, `<title>A page</title><link rel=icon href=/i.png>`, note)
	expect.Contains(t, string(file), note)
	iconOf := regexp.MustCompile(`<img class="icon" src="data:image/png;base64,([A-Za-z0-9+/=]+)" alt="" width="16" height="16"> Title</label>`)
	const with, without = "img-src 'self' data:;", "img-src 'self';"
	form := b.open("/_/links/new").form("/_/links/new").with("url", address, "alias", "one", "fetch", "title")
	page := b.submit(form)
	found := iconOf.FindStringSubmatch(page.body)
	expect.MustThat(t, found != nil, "there is no icon: %s", page.body)
	expect.Contains(t, page.header.Get("Content-Security-Policy"), with)
	icon, err := base64.StdEncoding.DecodeString(found[1])
	expect.OK(t, err)
	drawn, err := png.Decode(bytes.NewReader(icon))
	expect.OK(t, err)
	r, g, blue, _ := drawn.At(16, 16).RGBA()
	expect.Equal(t, fmt.Sprint(drawn.Bounds().Dx(), drawn.Bounds().Dy(), r>>8, g>>8, blue>>8), "32 32 200 30 40")
	expect.That(t, !bytes.Contains(icon, []byte("script")), "the file has more than the picture")
	expect.Contains(t, st.call("POST", "/titles", fmt.Sprintf(`{"url":%q}`, address)).body, `"icon":"data:image/png;base64,`+found[1]+`"`)

	b.follow(page.form("/_/links/new").with("fetch-", ""))
	edit := b.submit(b.open("/_/link/one/edit").form("/_/link/one/edit").with("fetch", "title"))
	expect.That(t, iconOf.MatchString(edit.body), "there is no icon in the form that edits")
	for name, r := range map[string]*shown{
		"another page": b.get("/_/links/new"), "without an icon": b.submit(form.with("url", servePage(t, "<title>Plain</title>"))),
		"a target that does not answer": b.submit(form.with("url", "http://page.test:1/")), "the link": b.get("/_/link/one"), "no page": b.get("/_/nothing"),
	} {
		expect.Contains(t, r.header.Get("Content-Security-Policy"), without, name)
		expect.That(t, !strings.Contains(r.body, "data:image"), "%s: it has an icon", name)
	}
}

func TestAUserFetchesThirtyTitlesAMinute(t *testing.T) {
	st := newSite(t, fetching)
	token := st.member("ann@example.com")
	for range 30 {
		st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`).need(t, "in time", 422)
	}
	r := st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`)
	r.expect(t, "too often", 429, problemOf("rate_limited"), header("Retry-After", "2"))
	st.call("POST", "/titles", `{"url":"http://127.0.0.1/"}`).expect(t, "somebody else", 422)
	st.now.Add(2000)
	st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`).expect(t, "later", 422)
}

func TestAFormFetchesTheTitleOfItsTarget(t *testing.T) {
	st := newSite(t, fetching)
	b := st.browseAs("ann@example.com", account.RoleMember)
	address := servePage(t, "<title>A <b>page</b></title>")
	page := b.submit(b.open("/_/links/new").form("/_/links/new").with("url", address, "alias", "one", "note", "kept", "fetch", "title"))
	form := page.form("/_/links/new")
	expect.Equal(t, form.values.Get("title")+"|"+form.values.Get("alias")+"|"+form.values.Get("note"), "A <b>page</b>|one|kept")
	b.get("/_/link/one").expect(t, "no link was made", 404)
	b.follow(form.with("fetch-", ""))
	expect.Equal(t, st.object("one").Title, "A <b>page</b>")
	edit := b.open("/_/link/one/edit").form("/_/link/one/edit").with("title", "", "fetch", "title")
	expect.Equal(t, b.submit(edit).form("/_/link/one/edit").values.Get("title"), "A <b>page</b>")
	for url, want := range map[string]string{"http://169.254.169.254/": "Leads to an address that is not on the public internet", "http://page.test:1/": "Cannot be reached"} {
		page := b.submit(form.with("url", url, "fetch", "title"))
		expect.Equal(t, page.status, 422, url)
		page.want(want)
	}
}
