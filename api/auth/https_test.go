package auth

import (
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

func TestARequestThatGoesOnLacksWhatProxiesSaidOfIt(t *testing.T) {
	var h fasthttp.RequestHeader
	for _, name := range []string{"X-Forwarded-Host", "X-Client", "X-Country", "X-Host", "X-Other"} {
		h.Set(name, "b.test")
	}
	DropForwarding(&h, &http1.Proxies{Header: "X-Client", CountryHeader: "x-country", HostHeader: "x-host"})
	left := 0
	for range h.All() {
		left++
	}
	expect.That(t, left == 1 && string(h.Peek("X-Other")) == "b.test", "%d fields are left", left)
}

func TestANamedHostMeansThatAProxyPassedTheRequestOn(t *testing.T) {
	for header, want := range map[string]bool{"X-Host": true, "": false} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set("X-Host", "b.test")
		r := HTTPS{Proxies: &http1.Proxies{HostHeader: header}}
		expect.Equal(t, r.forwarded(&ctx), want, "--host-header %q: forwarded", header)
	}
}
