package page

import (
	_ "embed"
	"strings"

	"shunt/api/problem"
)

//go:embed ask.css
var askCSS string

// askStyle is the style of the pages that ask: other pages have no form.
var askStyle = style + Compact(askCSS)

// Asks are the pages that ask for the password of a link. They tell nothing of the link. The form sends what is typed
// by POST to the address of the page, in the field "password" and as plain text: hardly anybody else sends that, so it
// is known for what it is even if the link has lost its password meanwhile.
type Asks struct {
	First      Error // nothing was typed yet
	Wrong      Error
	Limited    Error // too many wrong passwords: the answer needs a Retry-After
	Overloaded Error
	Policy     string // the Content-Security-Policy of these pages
}

// asks makes the pages. Their policy says nothing about where a form may lead: Chromium applies form-action also to the
// redirects that follow, and these lead wherever the link does.
func (s *Set) asks() Asks {
	return Asks{
		First: s.ask(problem.Locked, "This link has a password", "Type the password to go on. Whoever gave you this link knows it.", "", true),
		Wrong: s.ask(problem.Locked, "This link has a password", "", "That is not the password.", true),
		Limited: s.ask(problem.RateLimited, "Too many passwords", "Too many passwords for this link were typed in your network. Try again in some minutes.",
			"", false),
		Overloaded: s.ask(problem.Overloaded, "One moment, please", "The password cannot be compared at present. Try again in a few seconds.", "", true),
		Policy:     strings.Replace(PolicyFor(&s.site, askStyle), "form-action 'none'; ", "", 1),
	}
}

// AskAt returns the page of the preview of a link with a password, which is at path.
func (s *Set) AskAt(path string) []byte {
	return s.HTML("This link has a password", Format("<p>Nobody sees where it leads without the password.</p>\n<p class=\"act\"><a class=\"button\" href=\"%s\">Go to the link</a></p>", path))
}

// ask makes a page; wrong is said of what was typed.
func (s *Set) ask(kind *problem.Kind, title, text, wrong string, form bool) Error {
	body := Markup("")
	if text != "" {
		body = Format("<p>%s</p>\n", text)
	}
	about := Markup("")
	if wrong != "" {
		body += Format("<p class=\"wrong\" id=\"wrong\" role=\"alert\">%s</p>\n", wrong)
		about = ` aria-invalid="true" aria-describedby="wrong"`
	}
	if form {
		body += Format(`<form method="post" enctype="text/plain"><label for="password">Password</label>
<input id="password" name="password" type="password" maxlength="1024" required autofocus autocomplete="off"%s>
<button class="button">Open the link</button></form>`, about)
	}
	detail := text
	if wrong != "" {
		detail = wrong
	}
	return Error{kind, detail, NewText(s.styled(askStyle, title, body))}
}
