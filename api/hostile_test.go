package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shunt/api/domain"
	"shunt/engine"
	"shunt/engine/expect"
)

// hostileFile has targets that must be refused; its head explains its format.
const hostileFile = "testdata/hostile-targets.txt"

// A hostileTarget is a line of hostileFile.
type hostileTarget struct {
	line   int
	kind   string
	codes  []string // the right refusals: of a field, or of the request
	target string
}

var repeated = regexp.MustCompile(`\{([^{}]+)\*(\d+)\}`)

func hostileTargets(t *testing.T) (all []hostileTarget) {
	t.Helper()
	f, err := os.Open(hostileFile)
	expect.OK(t, err)
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
		expect.OK(t, err, "%s:%d", hostileFile, number)
		target = repeated.ReplaceAllStringFunc(target, func(s string) string {
			part := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(part[2])
			return strings.Repeat(part[1], n)
		})
		all = append(all, hostileTarget{number, kind, codes, target})
	}
	expect.OK(t, lines.Err())
	return all
}

// waysIn are the requests that set the target of a link: each sends one, as a JSON string. A new
// way in is a line here, if its answer to a refusal is only the problem.
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
	"POST /import": func(st *site, url, unique string) reply {
		return itemOf(st.call("POST", "/import", `[{"code":"i`+unique+`","url":`+url+`}]`))
	},
	"PATCH /links/{code}": func(st *site, url, _ string) reply { return st.call("PATCH", "/links/victim", `{"url":`+url+`}`) },
	"POST /shorten of an expired_url": func(st *site, url, _ string) reply {
		return st.call("POST", "/shorten", `{"url":"https://good.example/","expired_url":`+url+`}`)
	},
	"POST /import of an expired_url": func(st *site, url, unique string) reply {
		return itemOf(st.call("POST", "/import", `[{"code":"e`+unique+`","url":"https://good.example/","expired_url":`+url+`}]`))
	},
	"PATCH /links/{code} of an expired_url": func(st *site, url, _ string) reply {
		return st.call("PATCH", "/links/victim", `{"expired_url":`+url+`}`)
	},
	"POST /shorten of a rule": func(st *site, url, _ string) reply {
		return st.call("POST", "/shorten", `{"url":"https://good.example/","rules":[{"url":`+url+`,"conditions":[`+iOS+`]}]}`)
	},
	"POST /import of a rule": func(st *site, url, unique string) reply {
		return itemOf(st.call("POST", "/import", `[{"code":"r`+unique+`","url":"https://good.example/","rules":[{"url":`+url+`,"conditions":[`+iOS+`]}]}]`))
	},
	"PATCH /links/{code} of a rule": func(st *site, url, _ string) reply {
		return st.call("PATCH", "/links/victim", `{"rules":[`+someRule+`,{"url":`+url+`,"conditions":[`+iOS+`]}]}`)
	},
	"POST /shorten of a split": func(st *site, url, _ string) reply {
		return st.call("POST", "/shorten", `{"url":"https://good.example/","split":[{"url":"https://good.example/a","weight":1},{"url":`+url+`,"weight":1}]}`)
	},
	"POST /import of a split": func(st *site, url, unique string) reply {
		return itemOf(st.call("POST", "/import", `[{"code":"s`+unique+`","url":"https://good.example/","split":[{"url":`+url+`,"weight":1},{"url":"https://good.example/b","weight":1}]}]`))
	},
	"PATCH /links/{code} of a split": func(st *site, url, _ string) reply {
		return st.call("PATCH", "/links/victim", `{"split":[{"url":`+url+`,"weight":1},{"url":"https://good.example/b","weight":1}]}`)
	},
	"POST /shorten/bulk of all else that leads somewhere": func(st *site, url, _ string) reply {
		return refusedOf(st.call("POST", "/shorten/bulk", `[{"url":"https://good.example/","expired_url":`+url+`},{"url":"https://good.example/","card":{"title":"t","image":`+url+`}},`+
			`{"url":"https://good.example/","rules":[{"url":`+url+`,"conditions":[`+iOS+`]}]},{"url":"https://good.example/","split":[{"url":"https://good.example/a","weight":1},{"url":`+url+`,"weight":1}]}]`))
	},
	"POST /shorten as a form": func(st *site, target, _ string) reply {
		form := "url=" + url.QueryEscape(unescaped(target))
		return send(st.t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten", form, "Authorization: Bearer "+st.token, typedForm))
	},
	"POST /domains of a root_url": func(st *site, url, unique string) reply {
		return st.call("POST", "/domains", `{"host":"d`+unique+`.example","root_url":`+url+`}`)
	},
	"PATCH /domains/{host} of a root_url":      ofDomain("root_url"),
	"PATCH /domains/{host} of a not_found_url": ofDomain("not_found_url"),
	"PATCH /domains/{host} of an expired_url":  ofDomain("expired_url"),
	"POST /shorten of a card": func(st *site, url, _ string) reply {
		return st.call("POST", "/shorten", `{"url":"https://good.example/","card":{"title":"t","image":`+url+`}}`)
	},
	"POST /import of a card": func(st *site, url, unique string) reply {
		return itemOf(st.call("POST", "/import", `[{"code":"c`+unique+`","url":"https://good.example/","card":{"title":"t","image":`+url+`}}]`))
	},
	"PATCH /links/{code} of a card": func(st *site, url, _ string) reply {
		return st.call("PATCH", "/links/victim", `{"card":{"title":"t","image":`+url+`}}`)
	},
}

// ofDomain is the way in of a field of a domain.
func ofDomain(field string) func(st *site, url, _ string) reply {
	return func(st *site, url, _ string) reply {
		return st.call("PATCH", "/domains/victim.example", `{"`+field+`":`+url+`}`)
	}
}

// refusedOf returns the result of the last item of a bulk, as the answer to a request, if all others are refused with
// the same code; else that of one that differs.
func refusedOf(r reply) reply {
	var all bulkAnswer
	if err := json.Unmarshal([]byte(r.body), &all); err != nil || r.status != 200 {
		return r
	}
	for _, item := range all.Results {
		text, err := json.Marshal(item.Problem)
		if err != nil {
			panic(err)
		}
		one := reply{status: item.Status, body: string(text)}
		if item.Status < 400 {
			return one
		}
		r = one
	}
	return r
}

// itemOf returns the result of the one item of a bulk, as the answer to a request.
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

// hostileSite returns the server that hostileFile is for.
func hostileSite(t *testing.T, schemes string) *site {
	listed, err := engine.ParseTargetSchemes(schemes)
	expect.OK(t, err)
	return newSite(t, func(o *Options) {
		o.TargetSchemes = listed
		o.BaseURL, o.PrivateTargets = "https://xn--bcher-kva.example", "refuse"
		blocking(t, o, "evil.example\nböse.example\n203.0.113.66\n[2001:db8::66]\nhttp://shared.example/bad/\n")
		o.AllowHTTP = true
		openAll(o)
	})
}

func TestNoHostileTargetIsAcceptedByAnyWayIn(t *testing.T) {
	t.Parallel()
	for name, schemes := range map[string]string{"http": "http,https", "schemes": "http,https,market,x-app"} {
		t.Run(name, func(t *testing.T) { acceptsNoHostile(t, schemes) })
	}
}

// acceptsNoHostile sends each hostile target by each way in to a server with a list of schemes.
func acceptsNoHostile(t *testing.T, schemes string) {
	targets := hostileTargets(t)
	expect.MustThat(t, len(targets) >= 500, "got %d targets, want at least 500", len(targets))
	st := hostileSite(t, schemes)
	st.shorten(`{"url":"https://good.example/","alias":"victim"}`)
	st.addDomain(domain.Domain{Host: "victim.example"})
	for way, send := range waysIn {
		t.Run(way, func(t *testing.T) {
			for _, h := range targets {
				r := send(st, jsonText(h.target), strconv.Itoa(h.line))
				if strings.Contains(way, "/domains") && r.status < 300 { // blanks alone say: none
					r.expect(t, fmt.Sprintf("line %d, %s", h.line, h.kind), `"root_url":null,"not_found_url":null,"expired_url":null`)
					continue
				}
				code := refusalCode(r)
				expect.That(t, r.status >= 400 && slices.Contains(h.codes, code), "line %d, %s: got %d %q, want one of %v", h.line, h.kind, r.status, code, h.codes)
			}
		})
	}
	expect.Equal(t, st.get("/victim").header.Get("Location"), "https://good.example/", "the link that is there leads to")
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
}

// refusalCode returns the code of the error of the field url or expired_url, of a url in rules or a split, or of the
// image of a card, otherwise that of the problem; empty if r is not a problem.
func refusalCode(r reply) string {
	fields := r.fields()
	for _, field := range []string{"url:", "expired_url:", "rules[0].url:", "rules[1].url:", "split[0].url:", "split[1].url:", "root_url:", "not_found_url:", "card.image:"} {
		if code, found := strings.CutPrefix(fields, field); found {
			return code
		}
	}
	return r.problem()
}

// unescaped is the inverse of jsonText.
func unescaped(value string) string {
	return jsonEscape.ReplaceAllStringFunc(value[1:len(value)-1], func(escape string) string {
		c, err := strconv.ParseUint(escape[2:], 16, 8)
		if err != nil {
			panic(err)
		}
		return string([]byte{byte(c)})
	})
}

var jsonEscape = regexp.MustCompile(`\\u00[0-9a-f]{2}`)

// jsonText returns text as a JSON string; bytes that are not UTF-8 stay as they are.
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
