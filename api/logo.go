package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/brand"
	"shunt/api/docs"
)

// logoPolicy is the Content-Security-Policy of the logo: a script in an SVG image never runs, also
// if somebody opens the image by itself.
const logoPolicy = "default-src 'none'; sandbox"

// serveLogo returns GET /_/logo, which everybody may see.
func serveLogo(logo *brand.Logo) publicPage {
	document := docs.NewDocument(logo.Bytes)
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		guardPage(ctx, logoPolicy)
		writeCompressed(ctx, document, logo.Type)
	}
}
