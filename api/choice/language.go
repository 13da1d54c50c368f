package choice

import "bytes"

// wantsLanguage reports whether an Accept-Language among headers (RFC 9110, 12.5.4) has tag with a quality of at least
// 0.9. tag is in lower case. Several lines are one list.
func wantsLanguage(headers, tag []byte) bool {
	const name = "accept-language:"
	for len(headers) > 0 {
		line := headers
		if end := bytes.IndexByte(headers, '\n'); end >= 0 {
			line, headers = headers[:end], headers[end+1:]
		} else {
			headers = nil
		}
		if len(line) > len(name) && line[0]|0x20 == name[0] && equalFold(line[:len(name)], []byte(name)) && listHas(line[len(name):], tag) {
			return true
		}
	}
	return false
}

// listHas reports whether a list of languages has tag with a quality of at least 0.9.
func listHas(list, tag []byte) bool {
	for len(list) > 0 {
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
