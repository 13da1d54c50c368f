package source

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"shunt/api/jsontext"
)

// What an import refuses is kept as lines of JSON, so that it can be corrected and imported again: a link in our form
// with all values that were read, also wrong ones, or the text of a record that is no link. Before these stand the
// reason, where the record was, and the record as it was. Such a line is read as the link alone.

// rejectedNames are the members before those of a link.
var rejectedNames = []string{"refused", "at", "record", "text"}

// Rejected returns a line for a record that was refused: rest is the Rest of a record, or a link that was sent.
func Rejected(at, why string, rest []byte) []byte {
	line := jsontext.AppendString([]byte(`{"refused":`), why)
	line = jsontext.AppendString(append(line, `,"at":`...), at)
	rest = bytes.TrimSpace(rest)
	switch {
	case len(rest) == 0:
	case rest[0] != '{' || !json.Valid(rest) || bytes.ContainsRune(rest, '\n'):
		return append(jsontext.AppendString(append(line, `,"text":`...), asText(string(rest))), "}\n"...)
	default:
		if rest = bytes.TrimSpace(rest[1:]); rest[0] != '}' {
			line = append(line, ',')
		}
		return append(append(line, rest...), '\n')
	}
	return append(line, "}\n"...)
}

// asText returns bytes as a text of JSON can have them: what is not UTF-8 in base64, which says so.
func asText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return "base64:" + base64.StdEncoding.EncodeToString([]byte(text))
}

// rejectedHead begins a line of Rejected.
var rejectedHead = []byte(`{"refused":`)

// linkIn returns the link of a line, which has other members before it if it is one of Rejected.
func linkIn(line []byte) []byte {
	if !bytes.HasPrefix(line, rejectedHead) {
		return line
	}
	in := json.NewDecoder(bytes.NewReader(line))
	_, err := in.Token()
	end := in.InputOffset()
	for err == nil && in.More() {
		var skipped json.RawMessage
		name, _ := in.Token() // an error shows at the value
		if known, _ := name.(string); !slices.Contains(rejectedNames, known) {
			break
		}
		err, end = in.Decode(&skipped), in.InputOffset()
	}
	if link := append([]byte{'{'}, bytes.TrimLeft(line[end:], ", \t")...); err == nil && json.Valid(link) {
		return link
	}
	return line
}

// notCorrected reports whether a line of Rejected has no link; then it returns why the record was refused, and what the
// line has of it.
func notCorrected(line, link []byte) (why string, rest []byte, ok bool) {
	var of struct {
		Refused, Text string
		Record        json.RawMessage
	}
	if string(link) != "{}" || json.Unmarshal(line, &of) != nil || of.Refused == "" {
		return "", nil, false
	}
	if of.Record != nil {
		return of.Refused, append(append([]byte(`{"record":`), of.Record...), '}'), true
	}
	return of.Refused, []byte(of.Text), true
}

// restOf returns what is known of a record that is refused: the link as far as it was read, and all values.
func (s *foreign) restOf(l *link, at []address, all fields) []byte {
	if len(at) > 0 {
		l.Code = at[0].code
		var mapped bool
		if l.Domain, mapped = s.o.Hosts[at[0].host]; !mapped && s.main != "" && at[0].host != s.main {
			l.Domain = at[0].host
		}
	}
	record := make(map[string]any, len(all))
	for name, v := range all {
		switch {
		case v.list != nil:
			record[name] = v.list
		case v.text != "":
			record[name] = asText(v.text)
		}
	}
	head, err := json.Marshal(record)
	if err != nil {
		panic(err) // texts cannot fail
	}
	rest := append([]byte(`{"record":`), head...)
	for _, name := range slices.Sorted(maps.Keys(l.wrong)) {
		rest = jsontext.AppendString(append(jsontext.AppendString(append(rest, ','), name), ':'), asText(l.wrong[name]))
	}
	return append(append(rest, ','), l.text()[1:]...)
}
