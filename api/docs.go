package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
)

// docsPath is where the reference page is.
const docsPath = "/_/docs"

var (
	//go:embed assets/docs.html
	docsHTML string
	//go:embed assets/docs.css
	docsStyle string
)

// docsPolicy lets the reference page have its style and nothing else.
var docsPolicy = policyFor(docsStyle)

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{"prose": prose, "inline": inline}).Parse(docsHTML))

// A docsPage is what the template is given.
type docsPage struct {
	*reference
	Style   template.CSS
	BaseURL string
}

// newDocs returns the reference page of the API at baseURL. All that it says of the API is made from the OpenAPI document.
func newDocs(baseURL string) (document, error) {
	r, err := readReference(documentText)
	if err != nil {
		return document{}, fmt.Errorf("openapi.json: %w", err)
	}
	var page bytes.Buffer
	if err := docsTemplate.Execute(&page, docsPage{r, template.CSS(docsStyle), baseURL}); err != nil {
		return document{}, fmt.Errorf("the reference page: %w", err)
	}
	return newDocument(page.Bytes()), nil
}

// serveDocs is GET /_/docs.
func (s *Server) serveDocs(ctx *fasthttp.RequestCtx, _ []byte) {
	guardPage(ctx, docsPolicy)
	s.docs.write(ctx, "text/html; charset=utf-8")
}

var (
	paragraphEnd = regexp.MustCompile(`\n{2,}`)
	codeSpan     = regexp.MustCompile("`([^`]*)`")
)

// prose is what the page takes of CommonMark: paragraphs, and code between backticks.
func prose(text string) template.HTML {
	var b strings.Builder
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		b.WriteString("<p>" + string(inline(paragraph)) + "</p>\n")
	}
	return template.HTML(b.String())
}

// inline is prose within a line.
func inline(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>"))
}
