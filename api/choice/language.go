package choice

import "bytes"

// maxLanguages is how many languages of a request are read. A browser sends up to some ten. With a rule for each of 256
// languages, a visitor who sends 16 KiB of them would hold up an event loop for some 20 ms.
const maxLanguages = 64

const acceptLanguage = "accept-language:"

// cutLanguages returns the value of the first line of headers that is an Accept-Language, and the lines after it. ok is
// false if there is none.
func cutLanguages(headers []byte) (list, rest []byte, ok bool) {
	for len(headers) > 0 {
		line := headers
		if end := bytes.IndexByte(headers, '\n'); end >= 0 {
			line, headers = headers[:end], headers[end+1:]
		} else {
			headers = nil
		}
		if len(line) > len(acceptLanguage) && line[0]|0x20 == 'a' && equalFold(line[:len(acceptLanguage)], []byte(acceptLanguage)) {
			return line[len(acceptLanguage):], headers, true
		}
	}
	return nil, nil, false
}

// languageLines returns the part of headers from its first Accept-Language to its last, so that each condition need not
// look at the other lines.
func languageLines(headers []byte) []byte {
	list, rest, ok := cutLanguages(headers)
	begin := len(headers) - len(rest) - len(list) - len(acceptLanguage) - 1
	end := 0
	for ; ok; _, rest, ok = cutLanguages(rest) {
		end = len(headers) - len(rest)
	}
	return headers[max(0, min(begin, end)):end]
}

// wantsLanguage reports whether an Accept-Language among headers (RFC 9110, 12.5.4) has tag with a quality of at least
// 0.9. tag is in lower case. Several lines are one list.
func wantsLanguage(headers, tag []byte) bool {
	left := maxLanguages
	for list, rest, ok := cutLanguages(headers); ok; list, rest, ok = cutLanguages(rest) {
		for ; len(list) > 0 && left > 0; left-- {
			item := list
			if comma := bytes.IndexByte(list, ','); comma >= 0 {
				item, list = list[:comma], list[comma+1:]
			} else {
				list = nil
			}
			language, parameters := item, []byte(nil)
			if semicolon := bytes.IndexByte(item, ';'); semicolon >= 0 {
				language, parameters = item[:semicolon], item[semicolon+1:]
			}
			if isLanguage(bytes.Trim(language, blanks), tag) && wanted(parameters) {
				return true
			}
		}
	}
	return false
}

const blanks = " \t\r"

// isLanguage reports whether language is tag, or, if tag is a language alone, one of its variants.
func isLanguage(language, tag []byte) bool {
	if len(language) > len(tag) && language[len(tag)] == '-' && bytes.IndexByte(tag, '-') < 0 {
		language = language[:len(tag)]
	}
	return equalFold(language, tag)
}

// wanted reports whether the parameters of a language are none, or a quality of at least 0.9.
func wanted(parameters []byte) bool {
	if parameters = bytes.Trim(parameters, blanks); len(parameters) == 0 {
		return true
	}
	if len(parameters) < 3 || parameters[0]|0x20 != 'q' || parameters[1] != '=' {
		return false
	}
	switch quality := parameters[2:]; {
	case quality[0] == '1':
		return true
	default:
		return len(quality) > 2 && quality[0] == '0' && quality[1] == '.' && quality[2] == '9'
	}
}

// equalFold reports whether b is word in any case. word is in lower case.
func equalFold(b, word []byte) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
