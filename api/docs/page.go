package docs

import (
	_ "embed"
	"fmt"
	"html"
	"regexp"
	"strings"

	"shunt/api/page"
)

//go:embed docs.css
var ownStyle string

var style = page.BaseStyle + page.Compact(ownStyle)

// Policy returns the Content-Security-Policy of Page.
func Policy(site page.Site) string { return page.PolicyFor(&site, style) }

// Page returns the reference page of the API at baseURL. Everything on it about the API comes from
// the OpenAPI document.
func Page(baseURL string, site page.Site) Document {
	r, err := readReference(documentText)
	if err != nil {
		panic(fmt.Sprintf("docs: openapi.json: %v", err)) // it is part of the program
	}
	p := referencePage{baseURL: baseURL, site: site}
	p.reference(r)
	return NewDocument([]byte(p.html.String()))
}

// A referencePage is the HTML of the reference page.
type referencePage struct {
	html    strings.Builder
	baseURL string
	site    page.Site
}

// add formats and writes text as page.Format does.
func (p *referencePage) add(format string, values ...any) {
	p.html.WriteString(string(page.Format(format+"\n", values...)))
}

var (
	paragraphEnd = regexp.MustCompile(`\n{2,}`)
	codeSpan     = regexp.MustCompile("`([^`]*)`")
)

// prose converts the part of CommonMark that the page uses: paragraphs, and code between backticks.
func prose(text string) page.Markup {
	var b strings.Builder
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		if paragraph != "" {
			b.WriteString("<p>" + string(inline(paragraph)) + "</p>\n")
		}
	}
	return page.Markup(b.String())
}

// inline converts text within a line: code between backticks.
func inline(text string) page.Markup {
	return page.Markup(codeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>"))
}

func (p *referencePage) reference(r *reference) {
	p.html.WriteString(string(page.Head("API · "+p.site.Name(), style)))
	p.html.WriteString(string(p.site.Top()))
	p.contents(r)
	p.add("<main id=\"top\">\n<h1>%s API</h1>\n<p class=\"lead\">%s</p>\n%s", r.Title, r.Summary, prose(r.Description))
	for _, g := range r.Groups {
		p.add("<h2>%s</h2>\n%s", g.Name, prose(g.Description))
		for _, o := range g.Operations {
			p.operation(&o)
		}
	}
	p.hits()
	p.add("<h2 id=\"objects\">Objects</h2>\n<p>The objects in answers.</p>")
	for _, o := range r.Objects {
		p.add("<section id=\"object-%s\">\n<h3><a href=\"#object-%[1]s\">%[1]s</a></h3>\n%s", o.Name, prose(o.Description))
		p.fields(o.Fields)
		p.add("</section>")
	}
	p.add("<h2 id=\"errors\">Errors</h2>")
	for _, e := range r.Errors {
		p.add("<section id=\"error-%s\">\n<h3><a href=\"#error-%[1]s\"><span class=\"status\">%s</span> %s</a></h3>", e.Name, e.Status, e.Code)
		p.add("%s<pre tabindex=\"0\"><code>%s</code></pre>\n</section>", prose(e.Summary), e.Text)
	}
	p.add("</main>\n</html>")
}

func (p *referencePage) contents(r *reference) {
	p.add("<nav aria-label=\"Contents\">\n<p><a href=\"#top\"><strong>%s</strong> API</a></p>", r.Title)
	for _, g := range r.Groups {
		p.add("<h2>%s</h2>\n<ul>", g.Name)
		for _, o := range g.Operations {
			p.add(`<li><a href="#%s"><span class="method %s">%[2]s</span> %s</a></li>`, o.ID, o.Method, o.Summary)
		}
		p.add("</ul>")
	}
	p.add("<h2>All calls</h2>\n<ul>\n"+
		"<li><a href=\"#hits\">What counts as a hit</a></li>\n<li><a href=\"#objects\">Objects</a></li>\n<li><a href=\"#errors\">Errors</a></li>\n"+
		"<li><a href=\"%s/openapi.json\">openapi.json</a></li>\n"+
		"<li><a href=\"%[1]s/openapi-3.0.json\">openapi-3.0.json</a></li>\n</ul>\n</nav>", r.Root)
}

func (p *referencePage) operation(o *refOperation) {
	p.add("<section id=\"%s\">\n<h3><a href=\"#%[1]s\">%s</a></h3>", o.ID, o.Summary)
	p.add(`<p class="request"><span class="method %s">%[1]s</span> <code>%s</code></p>`, o.Method, o.Path)
	p.add("%s%s", prose(o.Description), prose(o.Access))
	if len(o.Parameters) > 0 {
		p.add("<h4>Parameters</h4>")
		p.fields(o.Parameters)
	}
	if o.Body != nil {
		p.body(o.Body)
	}
	p.add("<h4>Try it</h4>\n<pre tabindex=\"0\"><code class=\"curl\">%s%s%s</code></pre>", o.Curl.Before, p.baseURL, o.Curl.After)
	for _, a := range o.Answers {
		p.answer(&a)
	}
	p.errors(o.Errors)
	p.add("</section>")
}

func (p *referencePage) body(b *refBody) {
	p.add("<h4>Body</h4>\n%s%s", prose(b.Description), prose(b.Object.Description))
	p.add(`<p class="types"><code>%s</code></p>`, strings.Join(b.Types, " · "))
	p.fields(b.Object.Fields)
	p.examples(b.Examples)
}

func (p *referencePage) answer(a *refAnswer) {
	p.add(`<h4><span class="status">%s</span> %s</h4>`, a.Status, inline(a.Description))
	if a.Type != "" {
		p.add(`<p class="types"><code>%s</code>%s</p>`, a.Type, objectLinks(a.Objects))
	}
	p.examples(a.Examples)
	if len(a.Headers) > 0 {
		p.add("<details><summary>Header fields</summary>")
		p.fields(a.Headers)
		p.add("</details>")
	}
}

func objectLinks(names []string) page.Markup {
	links := make([]string, len(names))
	for i, name := range names {
		links[i] = `<a href="#object-` + name + `">` + name + `</a>`
	}
	if len(links) == 0 {
		return ""
	}
	return page.Markup(" of " + strings.Join(links, " or "))
}

func (p *referencePage) fields(fields []refField) {
	p.add(`<table class="fields">`)
	for _, f := range fields {
		mark, kind := page.Markup(""), page.Markup(html.EscapeString(f.Type))
		if f.Mark != "" {
			mark = ` <span class="mark">` + page.Markup(html.EscapeString(f.Mark)) + `</span>`
		}
		if f.Object != "" {
			kind = `<a href="#object-` + page.Markup(f.Object) + `">` + kind + `</a>`
		}
		p.add("<tr><th scope=\"row\"><code>%s</code>%s</th>\n<td class=\"type\">%s</td><td>%s</td></tr>", f.Name, mark, kind, inline(f.Description))
	}
	p.add("</table>")
}

func (p *referencePage) examples(examples []refExample) {
	for _, e := range examples {
		p.add(`<figure><figcaption>%s</figcaption><pre tabindex="0"><code>%s</code></pre></figure>`, inline(e.Summary), e.Text)
	}
}

func (p *referencePage) errors(errors []refError) {
	if len(errors) == 0 {
		return
	}
	p.add("<details><summary>Errors</summary>\n<table class=\"errors\">")
	for _, e := range errors {
		p.add(`<tr><th scope="row" class="status">%s</th><td class="code"><a href="#error-%s"><code>%s</code></a></td><td>%s</td></tr>`,
			e.Status, e.Name, e.Code, inline(e.Summary))
	}
	p.add("</table></details>")
}
