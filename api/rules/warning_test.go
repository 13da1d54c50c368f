package rules

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"shunt/api/choice"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

var warnedAt = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// ruleOf returns a rule of conditions such as "device ios" or "query-param a b".
func ruleOf(t *testing.T, conditions ...string) (r extras.Rule) {
	t.Helper()
	r.URL = "https://a.example/"
	for _, text := range conditions {
		kind, value, _ := strings.Cut(text, " ")
		key := ""
		if strings.HasSuffix(kind, "query-param") {
			key, value, _ = strings.Cut(value, " ")
		}
		c, err := Parse(kind, key, value)
		expect.OK(t, err, text)
		r.Conditions = append(r.Conditions, c)
	}
	return r
}

func TestRulesThatSendNobodyAnywhereAreWarnedOf(t *testing.T) {
	const before, after = "before-date 2031-01-01", "after-date 2031-01-01T00:00:00Z"
	for text, want := range map[string]string{
		"device ios": "", "device ios, device mobile": "", "device mobile, device android, language de": "", "browser Firefox, browser firefox": "",
		"device ios, device android": "rules[0].conditions[1] contradiction", "device desktop, language de, device ios": "rules[0].conditions[2] contradiction",
		"device mobile, device desktop": "rules[0].conditions[1] contradiction", "browser Firefox, browser Safari": "rules[0].conditions[1] contradiction",
		"geolocation-country-code DE, geolocation-country-code AT": "rules[0].conditions[1] contradiction",
		// A visitor may want several languages, and send a parameter twice.
		"language de, language en, language en-GB, language en-US": "", "query-param a b, query-param a c, valueless-query-param a": "",
		"ip-address 10.0.0.0/8, ip-address 10.1.0.0/16": "", "ip-address 10.*.1.*, ip-address *.2.*.3": "", "ip-address 0.0.0.0/0, ip-address 10.0.0.1": "",
		"ip-address 10.0.0.0/8, ip-address 11.0.0.0/8": "rules[0].conditions[1] contradiction", "ip-address 10.*.1.*, ip-address 10.2.2.*": "rules[0].conditions[1] contradiction",
		"ip-address 0.0.0.0/0, ip-address ::/0": "rules[0].conditions[1] contradiction", "ip-address 2001:db8::/32, ip-address 2001:db8:1::/48": "",
		"ip-address 2001:db8::/32, ip-address 2001:db9::/32": "rules[0].conditions[1] contradiction",
		before + ", after-date 2030-12-31T23:59:59Z":         "", before + ", " + after: "rules[0].conditions[1] contradiction", after + ", " + before: "rules[0].conditions[1] contradiction",
		"before-date 2029-01-01, after-date 2029-06-01": "rules[0].conditions[0] past; rules[0].conditions[1] contradiction", "before-date 2030-01-01": "rules[0].conditions[0] past",
		// An earlier rule takes everybody.
		"device mobile | device ios, language de": "rules[1] unreachable", "device ios | device mobile": "", "device ios | device ios": "rules[1] unreachable",
		"device ios, language de | language de, device ios": "rules[1] unreachable", "device ios, language de | device ios": "", "device ios | language de": "",
		"language en | language en-GB": "rules[1] unreachable", "language en-GB | language en": "", "language en | language end": "", "language zh-Hant | language zh-Hant-TW": "",
		"any-value-query-param a | query-param a b": "rules[1] unreachable", "any-value-query-param a | query-param b a": "", "query-param a b | any-value-query-param a": "",
		"query-param a  | valueless-query-param a": "rules[1] unreachable", "valueless-query-param a | query-param a ": "rules[1] unreachable",
		"ip-address 10.0.0.0/8 | ip-address 10.1.2.3": "rules[1] unreachable", "ip-address 10.*.1.* | ip-address 10.2.1.4": "rules[1] unreachable", "ip-address 10.1.2.3 | ip-address 10.0.0.0/8": "",
		"ip-address 0.0.0.0/0 | ip-address ::1": "", "before-date 2032-01-01 | " + before: "rules[1] unreachable", before + " | before-date 2032-01-01": "",
		"after-date 2031-01-01 | after-date 2032-01-01": "rules[1] unreachable", "after-date 2032-01-01 | after-date 2031-01-01": "",
		"after-date 2029-01-01 | device ios": "rules[1] unreachable", "device ios, after-date 2029-01-01 | device ios": "rules[1] unreachable",
		"device ios | device android | device mobile": "", "device ios | device android | language de, device android": "rules[2] unreachable",
		"before-date 2029-01-01 | before-date 2028-01-01": "rules[0].conditions[0] past; rules[1].conditions[0] past",
	} {
		var rules []extras.Rule
		for rule := range strings.SplitSeq(text, " | ") {
			rules = append(rules, ruleOf(t, strings.Split(rule, ", ")...))
		}
		var got []string
		for _, w := range Warnings(rules, true, warnedAt) {
			got = append(got, w.Field+" "+w.Code)
		}
		expect.Equal(t, strings.Join(got, "; "), want, text)
	}
	got := Warnings([]extras.Rule{ruleOf(t, "language de"), ruleOf(t, "device ios", "device android"), ruleOf(t, "language de")}, false, warnedAt)
	expect.Equal(t, fmt.Sprint(got), "[rules[1].conditions[1]: matches nobody who meets condition 1 of the rule "+
		"rules[2]: is never reached: rule 1 matches everybody whom this rule matches]")
}

// Whatever the rules are, no request is sent to the target of one that is warned of.
func TestNobodyIsSentByARuleThatIsWarnedOf(t *testing.T) {
	conditions := strings.Split("device ios,device android,device mobile,device windows,device desktop,browser Firefox,browser Safari,language de,language de-AT,language en,"+
		"query-param a b,query-param a ,any-value-query-param a,valueless-query-param a,ip-address 10.0.0.0/8,ip-address 10.*.1.*,ip-address 10.1.1.1,ip-address ::/0,ip-address 11.0.0.0/8,"+
		"geolocation-country-code DE,geolocation-country-code AT,before-date 2029-01-01,before-date 2031-01-01,before-date 2032-01-01,after-date 2029-01-01,after-date 2031-06-01,after-date 2033-01-01", ",")
	random := rand.New(rand.NewPCG(40, 1))
	request := func() *choice.Request {
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		return &choice.Request{
			Query: []byte(pick("", "a", "a=b", "a=b&a", "b=a", "a=c&a=b")), UserAgent: []byte(pick("iPhone", "Android", "Windows", "Macintosh", "curl")),
			Headers: []byte("Accept-Language: " + pick("de", "de-AT, en", "en", "fr", "de-AT") + "\r\n"), Client: netip.MustParseAddr(pick("10.1.1.1", "10.2.1.2", "10.2.2.2", "11.1.1.1", "2001:db8::1")),
			NowMs: warnedAt.AddDate(random.IntN(5), 0, random.IntN(200)).UnixMilli(), Browser: []engine.Browser{0, engine.Firefox, engine.Safari}[random.IntN(3)],
			Country: engine.CountryOf(pick("", "DE", "AT")),
		}
	}
	warned, sent := make(map[string]int), 0
	for range 3000 {
		f := extras.Fields{Rules: make([]extras.Rule, 1+random.IntN(4))}
		for i := range f.Rules {
			var some []string
			for range 1 + random.IntN(3) {
				some = append(some, conditions[random.IntN(len(conditions))])
			}
			f.Rules[i] = ruleOf(t, some...)
			f.Rules[i].URL += fmt.Sprint(i)
		}
		_, ok := f.Number("https://own.example/", &extras.Fields{}, "", 0)
		expect.MustThat(t, ok, "no numbers for %+v", f)
		of := make(map[string]string) // the code of the warning about the rule of an address
		for _, w := range Warnings(f.Rules, true, warnedAt) {
			index, _, _ := strings.Cut(strings.TrimPrefix(w.Field, "rules["), "]")
			of["https://a.example/"+index] = w.Code
			warned[w.Code]++
		}
		blob := f.Append(nil)
		for range 60 {
			q := request()
			if url, _ := choice.ByRule(extras.Rules(blob), q); url != nil {
				sent++
				expect.MustThat(t, of[string(url)] == "", "%+v is sent to %s of %+v, of which is warned: %s", q, url, f.Rules, of[string(url)])
			}
		}
	}
	expect.That(t, warned["contradiction"] > 100 && warned["unreachable"] > 100 && warned["past"] > 100 && sent > 1000, "%d requests were sent by a rule, and there were the warnings %v", sent, warned)
}
