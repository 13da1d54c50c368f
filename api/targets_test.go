package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"

	"shunt/api/jsonbody"
	"shunt/engine"
	"shunt/engine/expect"
)

// An acceptedTarget is a target that must be accepted, and what must be stored and shown: the bytes
// that were sent, except the host and invisible characters at the end. What must go out is inASCII of that.
type acceptedTarget struct{ sent, stored string }

// acceptedTargets draws targets with a host in any spelling, and a rest of valid and invalid parts
// of addresses.
type acceptedTargets struct{ random *rand.Rand }

func (a acceptedTargets) pick(from ...string) string { return from[a.random.IntN(len(from))] }

func (a acceptedTargets) oneIn(n int) bool { return a.random.IntN(n) == 0 }

// anyCase returns text with each letter in either case.
func (a acceptedTargets) anyCase(text string) string {
	b := []byte(text)
	for i, c := range b {
		if letter := c | 0x20; 'a' <= letter && letter <= 'z' && a.oneIn(2) {
			b[i] ^= 0x20
		}
	}
	return string(b)
}

func (a acceptedTargets) next() acceptedTarget {
	scheme := a.pick("http", "https", a.anyCase("http"), a.anyCase("https")) + "://"
	sent, stored := a.host()
	rest := a.pick("", "", "", ":", ":80", ":00443", ":"+strconv.Itoa(a.random.IntN(65536))) + a.rest()
	if room := engine.MaxTargetBytes - len(scheme) - max(len(sent), len(stored)) - len(inASCII(rest)); a.oneIn(100) {
		rest += a.fill(rest, room-a.random.IntN(2)*a.random.IntN(room))
	}
	return acceptedTarget{scheme + sent + rest, scheme + stored + strings.TrimRightFunc(rest, invisible)}
}

// invisible reports whether r is dropped where an address ends in it.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || r == '\u00ad' || r == '\u061c' || r == '\u180e' || r == '\ufeff' ||
		0x200b <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2060 <= r && r <= 0x206f
}

// idnHosts are names as people write them and as the DNS has them (UTS 46, non-transitional).
var idnHosts = [][2]string{
	{"münchen.example", "xn--mnchen-3ya.example"}, {"MÜNCHEN.example", "xn--mnchen-3ya.example"}, {"bücher.example", "xn--bcher-kva.example"},
	{"faß.example", "xn--fa-hia.example"}, {"пример.example", "xn--e1afmkfd.example"}, {"中国。example", "xn--fiqs8s.example"},
	{"例え。jp", "xn--r8jz45g.jp"}, {"日本語．jp", "xn--wgv71a119e.jp"}, {"한국.example", "xn--3e0b707e.example"}, {"ไทย.example", "xn--o3cw4h.example"},
	{"ﬀ.example", "ff.example"}, {"☃.example", "xn--n3h.example"}, {"💩.example", "xn--ls8h.example"}, {"８.８.８.８", "8.8.8.8"},
}

// host draws a host and returns it with its stored form.
func (a acceptedTargets) host() (sent, stored string) {
	switch a.random.IntN(8) {
	case 0:
		pair := idnHosts[a.random.IntN(len(idnHosts))]
		return pair[0], pair[1]
	case 1:
		sent = a.ipv4()
	case 2:
		sent = a.ipv6()
	case 3:
		sent = a.pick("my_host.example", "-a-.example", "0xacab.org", "intranet", "r3---sn.example", "xn--mnchen-3ya.example", "1.example.", "a.b.c.d.e.f")
	default:
		sent = a.name()
	}
	return sent, strings.ToLower(sent)
}

// name draws a name of ASCII, of at most 4 labels of at most 62 bytes.
func (a acceptedTargets) name() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	var b strings.Builder
	for range a.random.IntN(4) {
		for range 1 + a.random.IntN(a.random.IntN(62)+1) {
			b.WriteByte(alphabet[a.random.IntN(len(alphabet))])
		}
		b.WriteByte('.')
	}
	return b.String() + a.pick("example", "Example", "COM", "example.", "xn--p1ai")
}

// ipv4 draws an address of the public 8.0.0.0/8, in one of the spellings that browsers accept.
func (a acceptedTargets) ipv4() string {
	low := a.random.IntN(1 << 24)
	return fmt.Sprintf(a.pick("8.%[1]d.%[2]d.%[3]d", "8.%[1]d.%[2]d.%[3]d.", "010.%#[1]o.%#[2]x.%[3]d", "0X8.%#[1]X.%[4]d", "%#[5]x", "%[5]d", "8.%[6]d"),
		low>>16, low>>8&255, low&255, low&0xffff, 8<<24|low, low)
}

// ipv6 draws an address, in brackets.
func (a acceptedTargets) ipv6() string {
	group := func() any { return a.random.IntN(1 << 16) }
	text := fmt.Sprintf("2001:db9:%x:%x:%x:%x:%x:%04x", group(), group(), group(), group(), group(), group())
	return "[" + a.anyCase(a.pick(text, text, text, "2001:db9::"+text[len(text)-4:], "::ffff:"+a.pick("8.8.8.8", "808:808"), "64:ff9b::8.8.4.4",
		"2002:808:404::1", "2001:0:808:808:8000:63bf:f7f7:fbfb", "2001:db9::200:5efe:8.8.4.4")) + "]"
}

// rest draws path, query and fragment, or some of these.
func (a acceptedTargets) rest() string {
	var b strings.Builder
	for part, mark := range []string{"/", "?", "#"} {
		if a.random.IntN(3) > 0 {
			b.WriteString(mark)
			for range a.random.IntN(a.random.IntN(100) + 1) {
				b.WriteString(a.piece(part))
			}
		}
	}
	return b.String()
}

// notIn are the bytes that would begin a later part.
var notIn = []*strings.Replacer{strings.NewReplacer("\\", "/", "?", "-", "#", "-"), strings.NewReplacer("\\", "/", "#", "-"), strings.NewReplacer("\\", "/")}

// piece draws an allowed byte, a valid or invalid escape, or a letter of any script, for a part:
// path, query or fragment.
func (a acceptedTargets) piece(part int) string {
	var piece string
	switch a.random.IntN(8) {
	case 0:
		piece = a.pick("%00", "%0d%0a", "%", "%zz", "%2F", "%25", "..", "//", "./", "<>\"'`{}|^", "&amp;", "http://", "@", ";", "$(x)", "[]", "!$&'()*+,;=",
			"e\u0301", "\u202e", "\ufeff", "\u00ad", "\U000e0001")
	case 1:
		piece = string(rune(0xa0 + a.random.IntN(0xd800-0xa0)))
	case 2:
		piece = string(rune(0xe000 + a.random.IntN(0x110000-0xe000)))
	case 3:
		piece = fmt.Sprintf(a.pick("%%%02x", "%%%02X"), a.random.IntN(256))
	default:
		piece = string(rune('!' + a.random.IntN('~'-'!'+1)))
	}
	return notIn[part].Replace(piece)
}

// fill draws what may follow rest, and has n bytes as it goes out.
func (a acceptedTargets) fill(rest string, n int) string {
	var b strings.Builder
	if !strings.ContainsAny(rest, "/?#") {
		b.WriteByte('/')
		n--
	}
	for n > 0 {
		if piece := a.piece(0); len(inASCII(piece)) <= n {
			b.WriteString(piece)
			n -= len(inASCII(piece))
		}
	}
	return b.String()
}

// inASCII returns address as it must go out: percent-encoded where RFC 3986, 2 does not allow a byte.
func inASCII(address string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%"
	var b strings.Builder
	for _, c := range []byte(address) {
		if strings.IndexByte(allowed, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestAcceptedTargetsGoOutInASCII tries a few thousand targets; SHUNTTEST_TARGETS=1000000 (make
// targets) is the proof.
func TestAcceptedTargetsGoOutInASCII(t *testing.T) {
	t.Parallel()
	n := 4000
	if text := os.Getenv("SHUNTTEST_TARGETS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	refusePrivate := func(o *Options) { o.PrivateTargets = "refuse" }
	everyDoor(t, refusePrivate, func(t *testing.T, st *site, dial func() net.Conn) {
		st.checkTargets(dial, n/len(doors), seed)
	})
}

// checkTargets sends n targets through a door.
func (st *site) checkTargets(dial func() net.Conn, n int, seed uint64) {
	var sums targetSums
	var left atomic.Int64
	left.Store(int64(n))
	var writing sync.WaitGroup
	for w := range 8 {
		writing.Go(func() {
			targets := acceptedTargets{rand.New(rand.NewPCG(seed, uint64(w)))}
			for left.Add(-targetBatch) > -targetBatch && !st.t.Failed() {
				batch := make([]acceptedTarget, targetBatch)
				for i := range batch {
					batch[i] = targets.next()
				}
				sums.add(batch)
				st.wantByteForByte(dial, batch, w%2 == 0)
			}
		})
	}
	writing.Wait()
	st.t.Logf("%d targets, %d bytes; %d targets have %d bytes", sums.targets.Load(), sums.bytes.Load(), sums.longest.Load(), engine.MaxTargetBytes)
}

// targetBatch is how many links are made and followed at once. The requests to follow them are 7
// KB, less than the buffer of a socket.
const targetBatch = 200

// targetSums count what went out.
type targetSums struct{ targets, bytes, longest atomic.Int64 }

func (s *targetSums) add(batch []acceptedTarget) {
	s.targets.Add(int64(len(batch)))
	for _, target := range batch {
		s.bytes.Add(int64(len(target.stored)))
		if len(inASCII(target.stored)) == engine.MaxTargetBytes {
			s.longest.Add(1)
		}
	}
}

// wantByteForByte compares the bytes that go out for targets with those that must.
func (st *site) wantByteForByte(dial func() net.Conn, targets []acceptedTarget, lines bool) {
	locations, err := st.followAll(dial, targets, lines)
	if err != nil {
		st.t.Error(err)
		return
	}
	for i, target := range targets {
		expect.Equal(st.t, locations[i], inASCII(target.stored), "%q", target.sent)
	}
}

// followAll makes links to targets through the API, the first in its own request and the others in
// one, follows them, all on another connection, and returns the bytes that it receives.
func (st *site) followAll(dial func() net.Conn, targets []acceptedTarget, lines bool) (locations []string, err error) {
	api := dial()
	defer api.Close()
	codes, err := st.shortenAll(api, bufio.NewReader(api), targets, lines)
	if err != nil {
		return nil, err
	}
	conn := dial()
	defer conn.Close()
	answers := bufio.NewReaderSize(conn, 2*engine.MaxTargetBytes)
	var requests bytes.Buffer
	for _, code := range codes {
		fmt.Fprintf(&requests, "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", code)
	}
	if _, err := conn.Write(requests.Bytes()); err != nil {
		return nil, err
	}
	for range codes {
		location, err := readLocation(answers)
		if err != nil {
			return nil, err
		}
		locations = append(locations, location)
	}
	return locations, nil
}

// shortenAll returns the codes of links to targets. Each target must be accepted and shown as it
// must be stored.
func (st *site) shortenAll(conn net.Conn, answers *bufio.Reader, targets []acceptedTarget, lines bool) (codes []string, err error) {
	items := make([]string, len(targets))
	for i, target := range targets {
		items[i] = `{"url":` + jsonText(target.sent) + `}`
	}
	contentType, many := "application/json", "["+strings.Join(items[1:], ",")+"]"
	if lines {
		contentType, many = jsonbody.NDJSON[0], strings.Join(items[1:], "\n")
	}
	var first linkObject
	if err := st.ask(conn, answers, "/shorten", "application/json", items[0], 201, &first); err != nil {
		return nil, err
	}
	var others bulkAnswer
	if err := st.ask(conn, answers, "/shorten/bulk", contentType, many, 200, &others); err != nil {
		return nil, err
	}
	links := []*linkObject{&first}
	for _, result := range others.Results {
		links = append(links, result.Link)
	}
	for i, target := range targets {
		if i >= len(links) || links[i] == nil || links[i].URL != target.stored {
			return nil, fmt.Errorf("%q is not accepted as %q: %+v", target.sent, target.stored, others)
		}
		codes = append(codes, links[i].Code)
	}
	return codes, nil
}

// ask sends a call of the API on conn and decodes its answer into v.
func (st *site) ask(conn net.Conn, answers *bufio.Reader, path, contentType, body string, status int, v any) error {
	request := requestText("POST", "/api/v1"+path, body, "Authorization: Bearer "+st.token, "Content-Type: "+contentType)
	if _, err := conn.Write([]byte(request)); err != nil {
		return err
	}
	r := readReply(st.t, answers, "POST")
	if r.status != status {
		return fmt.Errorf("%s: got %d %s", path, r.status, r.body)
	}
	return json.Unmarshal([]byte(r.body), v)
}

// readLocation reads a redirect byte by byte, without an HTTP parser, and returns the bytes of its
// one Location.
func readLocation(r *bufio.Reader) (location string, err error) {
	for number, found := 0, 0; ; number++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		line, whole := strings.CutSuffix(line, "\r\n")
		value, isLocation := strings.CutPrefix(line, "Location: ")
		switch {
		case !whole:
			return "", fmt.Errorf("line %q has no CR", line)
		case number == 0 && line != "HTTP/1.1 302 Found":
			return "", fmt.Errorf("got %q", line)
		case line == "" && found == 1:
			return location, nil
		case line == "":
			return "", fmt.Errorf("%d times Location", found)
		case isLocation:
			location, found = value, found+1
		}
	}
}

// TestSchemesThatTheOperatorLists makes, follows and shows links to addresses without a host.
func TestSchemesThatTheOperatorLists(t *testing.T) {
	listed, err := engine.ParseTargetSchemes("https,mailto,tel")
	expect.OK(t, err)
	st := newSite(t, func(o *Options) {
		o.TargetSchemes = listed
		blocking(t, o, "evil.example\n")
	})
	st.shorten(`{"url":" mailto:ann@example.com?subject=Grüße ","alias":"mail","forward_query":true,"expired_url":"tel:1"}`)
	expect.Equal(t, st.get("/mail?cc=b").header.Get("Location"), "mailto:ann@example.com?subject=Gr%C3%BC%C3%9Fe&cc=b", "with a query")
	preview := st.get("/mail+").body
	expect.Contains(t, preview, `<p class="host" translate="no">mailto</p>`)
	expect.Contains(t, preview, `<p class="address" translate="no">mailto:ann@example.com?subject=Gr%C3%BC%C3%9Fe</p>`)
	expect.Contains(t, st.call("GET", "/links?q=ann@example", "").body, `"code":"mail"`)
	st.shorten(`{"url":"tel:1","alias":"t","forward_path":true}`)
	expect.Equal(t, st.get("/t").header.Get("Location"), "tel:1", "a target of one byte")
	st.get("/t/2").expect(t, "a path that is added to no host", 404)
	st.shorten(`{"url":"mailto:x@a.example?subject=://bank.example/","alias":"liar"}`)
	expect.Contains(t, st.get("/liar+").body, `<p class="host" translate="no">mailto</p>`)
	for _, url := range []string{"http://example.com/", "javascript:alert(1)", "market://x"} {
		st.call("POST", "/shorten", `{"url":"`+url+`"}`).expect(t, url, fieldsOf("url:scheme"), "must begin with one of https, mailto, tel")
		st.call("PATCH", "/links/mail", `{"expired_url":"`+url+`"}`).expect(t, url, fieldsOf("expired_url:scheme"))
	}
	for _, site := range []*site{st, newSite(t, nil)} { // programs load images by http and https, whatever an operator lists
		for _, url := range []string{"mailto:ann@example.com", "market://x", "javascript:alert(1)"} {
			r := site.call("POST", "/shorten", `{"url":"https://a.example/","card":{"title":"T","image":"`+url+`"}}`)
			r.expect(t, url, fieldsOf("card.image:scheme"), "must be http or https", without("--target-schemes"))
			r = site.call("POST", "/import", `[{"code":"i","url":"https://a.example/","card":{"title":"T","image":"`+url+`"}}]`)
			r.expect(t, url+" in an import", 200, `"failed":1`, "must be http or https", without("--target-schemes"))
		}
		for _, url := range []string{"http://a.example/i.png", "https://a.example/i.png"} {
			site.call("POST", "/shorten", `{"url":"https://a.example/","card":{"title":"T","image":"`+url+`"}}`).expect(t, url, 201)
		}
	}
}
