package choice

import (
	"encoding/binary"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

// blobOf returns the blob of a link with these rules and this split.
func blobOf(t testing.TB, rules []extras.Rule, split []extras.Share) []byte {
	t.Helper()
	f := extras.Fields{Rules: rules, Split: split}
	_, ok := f.Number("https://own.example/", &extras.Fields{}, "", 0)
	blob := f.Append(nil)
	_, err := extras.Read(blob)
	expect.MustThat(t, ok && err == nil, "no link has %+v: %v", f, err)
	return blob
}

func ruleOf(conditions ...extras.Condition) extras.Rule {
	return extras.Rule{URL: "https://rule.example/", Conditions: conditions}
}

func device(d extras.Device) extras.Condition {
	return extras.Condition{Kind: extras.OnDevice, Value: string([]byte{byte(d)})}
}

func language(tag string) extras.Condition {
	return extras.Condition{Kind: extras.InLanguage, Value: tag}
}

func at(kind extras.Kind, ms int64) extras.Condition {
	return extras.Condition{Kind: kind, Value: string(binary.LittleEndian.AppendUint64(nil, uint64(ms)))}
}

const (
	chromeWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	safariMac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15"
	safariIPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	appOnIPad     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 300"
	chromeAndroid = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"
	firefoxLinux  = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
	chromebook    = "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	windowsPhone  = "Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 Mobile Safari/537.36 Edge/15.15254"
)

func TestDevicesAreThoseOfTheUserAgent(t *testing.T) {
	groups := map[extras.Device]extras.Device{
		extras.Android: extras.Mobile, extras.IOS: extras.Mobile, extras.Windows: extras.Desktop, extras.MacOS: extras.Desktop,
		extras.Linux: extras.Desktop, extras.ChromeOS: extras.Desktop,
	}
	for agent, want := range map[string]extras.Device{
		chromeWindows: extras.Windows, safariMac: extras.MacOS, safariIPhone: extras.IOS, appOnIPad: extras.IOS, chromeAndroid: extras.Android,
		firefoxLinux: extras.Linux, chromebook: extras.ChromeOS, windowsPhone: 0, "curl/8.8.0": 0, "": 0,
		"Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X)": extras.IOS, strings.Repeat("x", maxAgentBytes) + "iPhone": 0,
	} {
		for d := extras.Android; d <= extras.Desktop; d++ {
			_, target := ByRule(extras.Rules(blobOf(t, []extras.Rule{ruleOf(device(d))}, nil)), &Request{UserAgent: []byte(agent)})
			wanted := want != 0 && (d == want || d == groups[want])
			expect.Equal(t, target != 0, wanted, "device %d for %.60q", d, agent)
		}
	}
}

// The conditions of Shlink, and when they are met.
func TestConditionsAreMetAsShlinksAre(t *testing.T) {
	query := func(kind extras.Kind, key, value string) extras.Condition {
		return extras.Condition{Kind: kind, Key: key, Value: value}
	}
	network := func(b ...byte) extras.Condition { return extras.Condition{Kind: extras.FromNetwork, Value: string(b)} }
	const v6 = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	accepts := func(lines ...string) Request {
		return Request{Headers: []byte("GET /x HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n")}
	}
	asked := func(text string) Request { return Request{Query: []byte(text)} }
	from := func(text string) Request { return Request{Client: netip.MustParseAddr(text)} }
	for name, c := range map[string]struct {
		condition extras.Condition
		met, not  []Request
	}{
		"a browser": {extras.Condition{Kind: extras.InBrowser, Value: string([]byte{byte(engine.Firefox)})}, []Request{{Browser: engine.Firefox}}, []Request{{}, {Browser: engine.Chrome}}},
		"a language": {language("en"), []Request{
			accepts("Accept-Language: en"), accepts("Accept-Language: en-GB"), accepts("accept-LANGUAGE:de,  EN-us ;q=0.9, fr"), accepts("Accept-Language: en;q=0.95"),
			accepts("Accept-Language: de", "Accept-Language: en;q=1.0"), accepts("Accept-Language: en;Q=1"),
		}, []Request{
			{}, accepts("Accept-Language: de,en;q=0.8"), accepts("Accept-Language: *"), accepts("Accept-Language: end"), accepts("Accept-Language: e"), accepts("Accept-Language:"),
			accepts("Accept-Language: de-en"), accepts("Content-Language: en"), accepts("X-Accept-Language: en"), accepts("Accept-Language: en;q=0"), accepts("Accept-Language: en;q="),
			accepts("Accept-Language: en;level=1"), accepts("Accept-Languages: en"), accepts("Accept-Language : en"),
			accepts("Accept-Language: " + strings.Repeat("de,", maxLanguages) + "en"),
		}},
		"a language with a region": {language("en-gb"),
			[]Request{accepts("Accept-Language: en-GB,en;q=0.9"), accepts("Accept-Language: EN-gb")},
			[]Request{accepts("Accept-Language: en"), accepts("Accept-Language: en-US"), accepts("Accept-Language: en-GB-oed"), accepts("Accept-Language: en-GB;q=0.89")}},
		"a parameter": {query(extras.WithQuery, "a b", "c&ä"),
			[]Request{asked("a+b=c%26%C3%A4"), asked("x&a%20b=c%26\xc3\xa4"), asked("a b=1&a b=c%26ä&a b=2")},
			[]Request{{}, asked("a+b"), asked("a+b="), asked("a+b=c&ä"), asked("A+b=c%26ä"), asked("a%2520b=c%26ä"), asked("x=a+b=c%26ä")}},
		"an empty value": {query(extras.WithQuery, "a", ""), []Request{asked("a"), asked("a=")}, []Request{asked("a=1"), asked("b")}},
		"any value": {query(extras.WithAnyQuery, "a", ""), []Request{asked("a"), asked("a="), asked("b&%61=1"), asked(strings.Repeat("&", maxParameters-1) + "a")},
			[]Request{{}, asked("b=a"), asked("ab=1"), asked(strings.Repeat("&", maxParameters) + "a")}},
		"no value":      {query(extras.WithValuelessQuery, "a", ""), []Request{asked("a"), asked("a="), asked("a=1&a")}, []Request{{}, asked("a=1"), asked("b")}},
		"an odd escape": {query(extras.WithQuery, "a", "%zz%4"), []Request{asked("a=%zz%4"), asked("a=%25zz%254")}, []Request{asked("a=%25zz%4x")}},
		"a network":     {network(10, 0, 0, 0, 255, 0, 0, 0), []Request{from("10.1.2.3"), from("::ffff:10.1.2.3")}, []Request{{}, from("11.0.0.0"), from("2001:db8::1")}},
		"wildcards":     {network(11, 0, 33, 0, 255, 0, 255, 0), []Request{from("11.22.33.44")}, []Request{from("11.22.34.44"), from("12.22.33.44")}},
		"an IPv6 one":   {network([]byte(v6)...), []Request{from("2001:db8:1::1")}, []Request{from("2001:db9::1"), from("32.1.13.184")}},
		"a country":     {extras.Condition{Kind: extras.InCountry, Value: "DE"}, []Request{{Country: engine.CountryOf("DE")}}, []Request{{}, {Country: engine.CountryOf("AT")}}},
		"before a time": {at(extras.Before, 1000), []Request{{NowMs: 999}}, []Request{{NowMs: 1000}, {NowMs: 1001}}},
		"after a time":  {at(extras.After, 1000), []Request{{NowMs: 1000}, {NowMs: 1001}}, []Request{{NowMs: 999}}},
	} {
		rules := extras.Rules(blobOf(t, []extras.Rule{ruleOf(c.condition)}, nil))
		for want, requests := range map[bool][]Request{true: c.met, false: c.not} {
			for _, q := range requests {
				_, target := ByRule(rules, &q)
				expect.Equal(t, target != 0, want, "%s: query %q, headers %q, client %v", name, q.Query, q.Headers, q.Client)
			}
		}
	}
}

func TestTheFirstRuleCountsOfWhichAllConditionsAreMet(t *testing.T) {
	rules := []extras.Rule{
		{URL: "a", Conditions: []extras.Condition{device(extras.IOS), language("de")}}, {URL: "b", Conditions: []extras.Condition{device(extras.IOS)}},
		{URL: "c", Conditions: []extras.Condition{language("de")}}, {URL: "d", Conditions: []extras.Condition{device(extras.Mobile), language("de")}},
	}
	blob := extras.Rules(blobOf(t, rules, nil))
	german, english := []byte("Accept-Language: de\r\n"), []byte("Accept-Language: en\r\n")
	for i, c := range []struct {
		q    Request
		want string
	}{
		{Request{UserAgent: []byte(safariIPhone), Headers: german}, "a 2"},
		{Request{UserAgent: []byte(safariIPhone), Headers: english}, "b 3"},
		{Request{UserAgent: []byte(chromeAndroid), Headers: german}, "c 4"},
		{Request{UserAgent: []byte(chromeAndroid), Headers: english}, " 0"},
	} {
		url, target := ByRule(blob, &c.q)
		expect.Equal(t, string(url)+" "+string('0'+rune(target)), c.want, "case %d", i)
	}
}

// FuzzParameters compares DecodesTo with package url, where that decodes.
func FuzzParameters(f *testing.F) {
	for _, text := range []string{"", "a+b", "%41", "%", "%4", "%zz", "a%20%C3%A4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if want, err := url.QueryUnescape(text); err == nil {
			expect.MustThat(t, DecodesTo([]byte(text), []byte(want)), "%q does not decode to %q", text, want)
			expect.MustThat(t, !DecodesTo([]byte(text), []byte(want+"x")), "%q decodes to %q, too", text, want+"x")
		}
	})
}

func FuzzLanguages(f *testing.F) {
	f.Add("Accept-Language: de, en;q=0.9", "en")
	f.Add("Host: a\r\naccept-language:en\r\nX: y\r\nAccept-Language: de", "de")
	f.Add("x\naccept-language:e", "e")
	f.Fuzz(func(t *testing.T, headers, tag string) {
		all, lines := wantsLanguage([]byte(headers), []byte(tag)), wantsLanguage(languageLines([]byte(headers)), []byte(tag))
		expect.MustThat(t, all == lines, "%q of %q: %v, of its lines %v", tag, headers, all, lines)
	})
}

// fourRules have conditions of several kinds, none of which the request of the benchmark meets but the last.
func fourRules(t testing.TB) ([]byte, *Request) {
	blob := blobOf(t, []extras.Rule{
		ruleOf(device(extras.IOS)), ruleOf(language("de")), ruleOf(extras.Condition{Kind: extras.WithQuery, Key: "utm_source", Value: "print"}),
		ruleOf(device(extras.Linux), language("en")),
	}, nil)
	return blob, &Request{
		Query: []byte("a=b&utm_source=mail"), UserAgent: []byte(firefoxLinux), Client: netip.MustParseAddr("192.0.2.77"),
		Headers: []byte("GET /x HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: " + firefoxLinux + "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
			"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\n\r\n"),
	}
}

func TestAChoiceAllocatesNothing(t *testing.T) {
	blob, q := fourRules(t)
	split := blobOf(t, nil, []extras.Share{{URL: "a", Weight: 70}, {URL: "b", Weight: 30}})
	n := testing.AllocsPerRun(100, func() {
		if _, target := ByRule(extras.Rules(blob), q); target != 5 {
			t.Errorf("got %d, want the last rule", target)
		}
		ByWeight(extras.Split(split), 1, 2)
	})
	expect.Equal(t, n, 0, "allocations")
}

// Nobody can hold up an event loop with a long header or query, whatever the rules are.
func BenchmarkByHostileRequest(b *testing.B) {
	for name, condition := range map[string]extras.Condition{
		"languages": language("zz"), "query": {Kind: extras.WithQuery, Key: "aa", Value: "b"}, "device": device(extras.IOS),
	} {
		b.Run(name, func(b *testing.B) {
			rules := make([]extras.Rule, extras.MaxRules)
			for i := range rules {
				rules[i] = ruleOf(slices.Repeat([]extras.Condition{device(extras.Linux)}, extras.MaxConditions-1)...)
				rules[i].Conditions = append(rules[i].Conditions, condition)
			}
			blob := extras.Rules(blobOf(b, rules, nil))
			q := Request{
				Query: []byte(strings.Repeat("a&", 4<<10)), UserAgent: []byte(firefoxLinux + strings.Repeat("x", 8<<10)),
				Headers: []byte("Accept-Language: " + strings.Repeat("z,", 4<<10) + "\r\n" + strings.Repeat("X: y\r\n", 100) + "Accept-Language: z\r\n"),
			}
			for b.Loop() {
				again := q
				ByRule(blob, &again)
			}
		})
	}
}

func BenchmarkByRule(b *testing.B) {
	blob, q := fourRules(b)
	b.ReportAllocs()
	for b.Loop() {
		again := *q
		ByRule(extras.Rules(blob), &again)
	}
}

func BenchmarkByWeight(b *testing.B) {
	for name, n := range map[string]int{"shares=2": 2, "shares=10": 10} {
		b.Run(name, func(b *testing.B) {
			split := make([]extras.Share, n)
			for i := range split {
				split[i] = extras.Share{URL: "https://a.example/", Weight: 10}
			}
			blob := blobOf(b, nil, split)
			visitor := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				visitor += 0x9e3779b97f4a7c15
				ByWeight(extras.Split(blob), visitor, 7)
			}
		})
	}
}
