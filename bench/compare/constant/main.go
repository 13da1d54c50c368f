// Constant answers every request with the same redirect, by fasthttp or by net/http, each with its
// defaults. It is what a redirect costs at least on these servers.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/valyala/fasthttp"
)

// target has 64 bytes, as the targets of the links of the other servers.
const target = "https://www.example.com/a/page/of/some/length/of/a/site/constant"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: constant fasthttp|nethttp ADDRESS")
		os.Exit(2)
	}
	var err error
	switch server, address := os.Args[1], os.Args[2]; server {
	case "fasthttp":
		err = fasthttp.ListenAndServe(address, redirect)
	case "nethttp":
		err = http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		}))
	default:
		err = fmt.Errorf("there is no constant %q", server)
	}
	fmt.Fprintln(os.Stderr, "constant:", err)
	os.Exit(1)
}

func redirect(ctx *fasthttp.RequestCtx) {
	ctx.Response.SetStatusCode(fasthttp.StatusFound)
	ctx.Response.Header.Set("Location", target)
}
