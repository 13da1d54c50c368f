package page

import (
	"strings"

	"shunt/api/problem"
	"shunt/api/redirect"
)

// errorTexts is the table of error pages: what happened, and what the visitor can do. SUPPORT is
// replaced by a link to the support of the site, or by "whoever runs" it.
var errorTexts = [redirect.NumOutcomes]struct {
	kind   *problem.Kind
	title  string
	text   string // also the detail of the problem
	advice string
	help   bool // the support of the site can help
}{
	redirect.UnknownCode: {problem.NotFound, "This link does not exist", "There is no link at this address.",
		"Check the address: upper and lower case matter. If somebody gave you this link, ask them for the right one.", true},
	redirect.Disabled: {problem.Gone, "This link is disabled", "The owner of this link has disabled it.",
		"Ask whoever gave you this link for a new one.", true},
	redirect.Expired: {problem.Gone, "This link has expired", "This link expired and no longer works.",
		"Ask whoever gave you this link for a new one.", true},
	redirect.Exhausted: {problem.Gone, "This link is used up", "This link has reached its limit of uses.",
		"Ask whoever gave you this link for a new one.", true},
	redirect.StillLoading: {problem.Loading, "One moment, please", "This server has just started and is still loading its links.",
		"Try again in a few seconds.", false},
	redirect.CapElsewhere: {problem.CapElsewhere, "One moment, please", "This link has a limit of uses, and they cannot be counted at present.",
		"Try again in a few seconds.", false},
	redirect.WrongMethod: {problem.Method, "This method is not allowed", "This address does not take this method.",
		"Open the address in a browser.", false},
	redirect.TooManyMisses: {problem.RateLimited, "Too many unknown addresses",
		"Too many unknown addresses were requested from your network. Try again in a minute.",
		"Links that exist still work.", false},
	redirect.LocationTooLong: {problem.URITooLong, "This address is too long",
		"With the text after the question mark, this link leads to an address that is too long.",
		"Open the link without the question mark and the text after it.", false},
	redirect.TargetBlocked: {problem.Blocked, "This link is blocked", "This link leads to an address that is blocked here.",
		"The address may be unsafe. If you think that this is a mistake, ask SUPPORT.", false},
}

// An Error is the page of an outcome that is not a redirect.
type Error struct {
	Kind   *problem.Kind
	Detail string // of the problem, for clients that prefer JSON
	HTML   Text
}

// Error returns the page of an outcome that is not Redirected. It is shared: read-only.
func (s *Set) Error(o redirect.Outcome) *Error {
	if o.IsUnknown() {
		o = redirect.UnknownCode
	}
	return &s.errors[o]
}

// Problem returns a page about a problem that will pass.
func (s *Set) Problem(p problem.Problem) []byte {
	return s.HTML("One moment, please", s.errorBody(strings.ToUpper(p.Detail[:1])+p.Detail[1:]+".", "Try again in a few seconds. Links still work.", false))
}

// errorBody returns the body of the error page of one row of errorTexts.
func (s *Set) errorBody(text, advice string, help bool) Markup {
	support := s.site.support()
	body := Format("<p>%s</p>\n", text)
	if before, after, found := strings.Cut(advice, "SUPPORT"); found {
		whom := support
		if whom == "" {
			whom = Format("whoever runs %s", s.site.Name())
		}
		return body + Format("<p class=\"quiet\">%s%s%s</p>", before, whom, after)
	}
	body += Format("<p class=\"quiet\">%s</p>", advice)
	if help && support != "" {
		body += Format("\n<p class=\"quiet\">If that does not help, ask %s.</p>", support)
	}
	return body
}
