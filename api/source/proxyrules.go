package source

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// proxyRules read the lines of a _redirects file, or of a map of nginx. A line redirects one path; a line with a
// pattern or a condition is refused.
type proxyRules struct {
	lines  *lines
	nginx  bool
	of     string     // what the map looks at, unless that may be the path
	scheme bool       // it looks at the scheme before the path
	number int64      // of the line
	text   string     // the line
	waits  [][]string // the words of each of its rules that comes next
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
		if len(p.waits) == 0 {
			r, err := p.lines.Next()
			switch p.number, p.text = r.Number, string(r.Link); {
			case err != nil:
				return nil, 0, nil, err
			case r.Refused != "":
				return nil, r.Number, errors.New(r.Refused), nil
			case p.nginx:
				p.waits = rulesOf(wordsOf(string(r.Link), true))
			default:
				p.waits = [][]string{wordsOf(string(r.Link), false)}
			}
			continue
		}
		words := p.waits[0]
		if p.waits = p.waits[1:]; p.nginx {
			words, refused = p.mapRule(words)
		} else {
			refused = redirectRule(words)
		}
		switch {
		case refused != nil:
			return textOnly(p.text), p.number, refused, nil
		case len(words) == 0:
			continue
		}
		f := fields{"code": {text: decoded(strings.Trim(words[0], "/"))}, "url": {text: words[1]}}
		if len(words) > 2 {
			f["redirectstatus"] = value{text: words[2]}
		}
		return f, p.number, nil, nil
	}
}

func (p *proxyRules) passed() int64 { return p.lines.Passed() }

// wordsOf returns the words of a line up to a comment. A word may be in quotation marks. One of nginx also ends with ;
// and before {, and a bracket is one.
func wordsOf(line string, nginx bool) (words []string) {
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
		if nginx {
			end = ruleEnd(line[:end])
		}
		words = append(words, line[:end])
		line = line[end:]
	}
}

// ruleEnd returns where a word of nginx ends, at the end of text if not before.
func ruleEnd(text string) int {
	for i, c := range text {
		switch {
		case c == ';', i == 0 && (c == '{' || c == '}'):
			return i + 1
		case c == '{' && text[i-1] != '$': // ${uri} is a variable
			return i
		}
	}
	return len(text)
}

// rulesOf cuts the words of a line of nginx after each ; and bracket.
func rulesOf(words []string) (rules [][]string) {
	begin := 0
	for i, word := range words {
		if word == "{" || word == "}" || strings.HasSuffix(word, ";") {
			rules, begin = append(rules, words[begin:i+1]), i+1
		}
	}
	if begin < len(words) {
		rules = append(rules, words[begin:])
	}
	return rules
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

// notPath finds variables of nginx that are not the path of a request. Others may be: of some a map or a rule decides.
var notPath = regexp.MustCompile(`(?i)\$\{?(host(name)?\b|(http|arg|cookie|remote|server|ssl|geoip2?)_)`)

// isPath reports whether a key of the map is a path, after the scheme if it looks at that, too.
func (p *proxyRules) isPath(key string) bool {
	scheme, _, ok := strings.Cut(key, "/")
	if p.scheme {
		return ok && (scheme == "http" || scheme == "https")
	}
	return ok && scheme == ""
}

// mapRule returns key and value of a rule in a map of nginx, nothing for its other words.
func (p *proxyRules) mapRule(words []string) ([]string, error) {
	switch {
	case len(words) == 0, words[0] == "{", words[0] == "hostnames;", words[0] == "volatile;":
		return nil, nil
	case words[0] == "}":
		p.of, p.scheme = "", false
		return nil, nil
	case words[0] == "map" && (len(words) == 3 || len(words) == 4 && words[3] == "{"):
		p.of, p.scheme = words[1], strings.HasPrefix(words[1], "$scheme$") || strings.HasPrefix(words[1], "${scheme}$")
		if !notPath.MatchString(p.of) {
			p.of = ""
		}
		return nil, nil
	case p.of != "":
		return nil, fmt.Errorf("is in a map of %s, which is not the path of a request", shortened(p.of))
	case words[0] == "default", words[0] == "include", strings.HasPrefix(words[0], "~"), strings.ContainsAny(words[0], "*?"):
		return nil, errPattern
	case len(words) != 2, !p.isPath(words[0]), !strings.HasSuffix(words[1], ";"):
		return nil, errRule
	}
	words[0] = words[0][strings.IndexByte(words[0], '/'):]
	if words[1] = strings.TrimSuffix(words[1], ";"); !strings.Contains(words[1], "://") {
		return nil, errPath
	}
	if strings.Contains(words[1], "$") {
		return nil, errPattern
	}
	return words, nil
}
