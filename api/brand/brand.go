package brand

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Brand is what the public pages show of the operator. Its zero value is no brand: pages show the
// host of the site.
type Brand struct {
	Name       string // as ParseName returns it; empty: none
	SupportURL string // as ParseSupportURL returns it; empty: none
	Logo       *Logo  // nil: none
}

// Check reports what is wrong with a brand whose texts were not parsed.
func (b *Brand) Check() error {
	if b.Name != "" {
		if _, err := ParseName(b.Name); err != nil {
			return fmt.Errorf("brand name %q %w", b.Name, err)
		}
	}
	if b.SupportURL != "" {
		if _, err := ParseSupportURL(b.SupportURL); err != nil {
			return fmt.Errorf("support URL %q %w", b.SupportURL, err)
		}
	}
	return nil
}

const maxNameRunes = 64

var errName = fmt.Errorf("must be 1 to %d characters that can be printed, on one line", maxNameRunes)

// ParseName reads a name, without the space around it. Characters that change the order of text or
// that are invisible are refused.
func ParseName(text string) (string, error) {
	name := strings.TrimSpace(text)
	notPrint := func(r rune) bool { return !unicode.IsPrint(r) }
	if n := utf8.RuneCountInString(name); n < 1 || n > maxNameRunes || !utf8.ValidString(name) || strings.ContainsFunc(name, notPrint) {
		return "", errName
	}
	return name, nil
}

const maxSupportURL = 2048 // bytes

var errSupportURL = errors.New("must be an address such as https://help.example or mailto:help@example.org")

// ParseSupportURL reads the address for questions: http or https with a host, or mailto.
func ParseSupportURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxSupportURL || strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) {
		return "", errSupportURL
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" || u.User != nil {
			return "", errSupportURL
		}
	case "mailto":
		if _, err := mail.ParseAddress(mailbox(u)); err != nil {
			return "", errSupportURL
		}
	default:
		return "", errSupportURL
	}
	return u.String(), nil
}

// Support returns what a link to the support is called on a page: the mailbox, or the host. It is
// empty if there is no support.
func (b *Brand) Support() string {
	u, err := url.Parse(b.SupportURL)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "mailto":
		return mailbox(u)
	}
	return u.Host
}

func mailbox(u *url.URL) string {
	if text, err := url.PathUnescape(u.Opaque); err == nil {
		return text
	}
	return u.Opaque
}
