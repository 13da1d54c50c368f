package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// proxyRules read the lines of a _redirects file, or of a map of nginx. A line redirects one path; a line with a
// pattern or a condition is refused.
type proxyRules struct {
	lines *lines
	nginx bool
	of    string // what the map looks at, unless that is the path
}

var (
	errRule    = errors.New("is no redirect from a path to an address")
	errPattern = errors.New("has a pattern or a condition, which no link has")
	errPath    = errors.New("leads to a path and not to an address with a host")
	errRewrite = errors.New("does not redirect")
)

// next implements rows.
func (p *proxyRules) next() (f fields, number int64, refused, err error) {
	for {
		r, err := p.lines.Next()
		switch {
		case err != nil:
			return nil, 0, nil, err
		case r.Refused != "":
			return nil, r.Number, errors.New(r.Refused), nil
		}
		words := wordsOf(string(r.Link))
		if p.nginx {
			words, refused = p.mapRule(words)
		} else {
			refused = redirectRule(words)
		}
		switch {
		case refused != nil:
			return nil, r.Number, refused, nil
		case len(words) == 0:
			continue
		}
		f := fields{"code": {text: decoded(strings.Trim(words[0], "/"))}, "url": {text: words[1]}}
		if len(words) > 2 {
			f["redirectstatus"] = value{text: words[2]}
		}
		return f, r.Number, nil, nil
	}
}

func (p *proxyRules) passed() int64 { return p.lines.Passed() }

// wordsOf returns the words of a line up to a comment. A word may be in quotation marks.
func wordsOf(line string) (words []string) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			return words
		}
		quote, end := line[0], 0
		if quote == '"' || quote == '\'' {
			if end = strings.IndexByte(line[1:], quote); end >= 0 {
				words = append(words, line[1:end+1])
				line = line[end+2:]
				if strings.HasPrefix(line, ";") {
					words[len(words)-1] += ";"
					line = line[1:]
				}
				continue
			}
		}
		if end = strings.IndexAny(line, " \t"); end < 0 {
			end = len(line)
		}
		words = append(words, line[:end])
		line = line[end:]
	}
}

// redirectRule checks the words of a line: from, to, and a status that may end in !, which it leaves out.
func redirectRule(words []string) error {
	switch {
	case len(words) == 0:
		return nil
	case len(words) < 2, !strings.HasPrefix(words[0], "/"):
		return errRule
	case strings.ContainsAny(words[0], "*:"), strings.Contains(words[1], ":splat"):
		return errPattern
	case !strings.Contains(words[1], "://") && strings.Contains(words[1], "="): // a condition on the query
		return errPattern
	case !strings.Contains(words[1], "://"):
		return errPath
	case len(words) == 2:
		return nil
	case len(words) > 3, !isStatus(words[2]):
		return errPattern
	}
	if words[2] = strings.TrimSuffix(words[2], "!"); words[2][0] != '3' {
		return errRewrite
	}
	return nil
}

func isStatus(word string) bool {
	n, ok := number(strings.TrimSuffix(word, "!"))
	return ok && n >= 100 && n < 600
}

// paths are the variables of nginx that have the path of a request.
var paths = []string{"$uri", "${uri}", "$request_uri", "${request_uri}", "$document_uri", "${document_uri}"}

// mapRule returns key and value of a line of a map of nginx, nothing for its other lines.
func (p *proxyRules) mapRule(words []string) ([]string, error) {
	switch {
	case len(words) == 0, words[0] == "{", words[0] == "hostnames;", words[0] == "volatile;":
		return nil, nil
	case words[0] == "}":
		p.of = ""
		return nil, nil
	case words[0] == "map" && len(words) > 2:
		if p.of = words[1]; slices.Contains(paths, p.of) {
			p.of = ""
		}
		return nil, nil
	case p.of != "":
		return nil, fmt.Errorf("is in a map of %s: only one of $uri or $request_uri redirects paths", shortened(p.of))
	case words[0] == "default", words[0] == "include", strings.HasPrefix(words[0], "~"), strings.ContainsAny(words[0], "*?"):
		return nil, errPattern
	case len(words) != 2, !strings.HasPrefix(words[0], "/"), !strings.HasSuffix(words[1], ";"):
		return nil, errRule
	}
	if words[1] = strings.TrimSuffix(words[1], ";"); !strings.Contains(words[1], "://") {
		return nil, errPath
	}
	if strings.Contains(words[1], "$") {
		return nil, errPattern
	}
	return words, nil
}
