package auth

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

func TestAnInvalidOriginIsRefusedAtStart(t *testing.T) {
	for _, text := range []string{"", "app.example", "https://", "https://app.example//", "https://app.example/x", "https://a*.example", "https://*", "https://*.", "https://a.*.example", "*://app.example",
		"chrome-extension://", "chrome-extension://*.x", "chrome-extension://x/page.html", "https://a@app.example",
		"ftp://app.example", "https://app.example?x", "null", "https://*.example\x00"} {
		expect.That(t, expect.Err(NewCORS([]string{text})) != nil, "%q was taken", text)
	}
}

func TestOriginsAreWrittenAsBrowsersWriteThem(t *testing.T) {
	for baseURL, want := range map[string]string{
		"https://sho.rt": "https://sho.rt", "https://sho.rt:443": "https://sho.rt", "http://sho.rt:443": "http://sho.rt:443",
		"http://SHO.rt:80": "http://sho.rt", "http://[::1]:8080": "http://[::1]:8080", "http://[::1]:80": "http://[::1]",
	} {
		expect.Equal(t, OriginOf(baseURL), want, baseURL)
	}
}

// Cases are in testdata; -rewrite writes what is answered now.
func TestOnlyPagesOfNamedOriginsMayReadAnswers(t *testing.T) {
	var c CORS
	datadriven.RunTest(t, "testdata/cors.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "origins" {
			var err error
			if c, err = NewCORS(strings.Fields(d.Input)); err != nil {
				t.Fatal(err)
			}
			return ""
		}
		ctx, method := new(fasthttp.RequestCtx), d.Cmd
		h := &ctx.Request.Header
		if d.Cmd == "preflight" {
			method = "OPTIONS"
			h.Set("Access-Control-Request-Method", "PATCH")
		}
		h.SetMethod(method)
		if origin := d.CmdArgs[0].Key; origin != "-" {
			h.Set("Origin", origin)
		}
		if c.Preflight(ctx) {
			return "preflight: " + corsOf(ctx)
		}
		c.Allow(ctx)
		return strings.TrimSpace("answer: " + corsOf(ctx))
	})
}

// corsOf is what an answer says to browsers of other origins.
func corsOf(ctx *fasthttp.RequestCtx) string {
	var lines []string
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
		"Access-Control-Allow-Credentials", "Vary"} {
		if v := ctx.Response.Header.PeekAll(name); len(v) > 0 {
			lines = append(lines, strings.TrimPrefix(name, "Access-Control-Allow-")+"="+string(bytes.Join(v, []byte(", "))))
		}
	}
	return strings.Join(lines, " ")
}
