package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/problem"
	"shunt/api/tagtext"
)

// The media types of forms.
const (
	encoded = "application/x-www-form-urlencoded"
	parts   = "multipart/form-data"
)

// maxFields bounds the fields of a form, which is about what a JSON object may have.
const maxFields = 64

// kinds has the fields of a link that are no text in JSON, with the value that a text stands for. A text that stands
// for none stays text, and package ops refuses it.
var kinds = map[string]func(text string) json.RawMessage{
	"redirect_status": number, "max_hits": number,
	"forward_query": yesNo, "forward_path": yesNo, "disabled": yesNo, "reuse": yesNo,
	"rules": asJSON, "split": asJSON, "card": asJSON,
}

func number(text string) json.RawMessage {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return strconv.AppendUint(nil, n, 10)
	}
	return plain(text)
}

// yesNo takes the words of forms, in which a box that is not checked is not sent.
func yesNo(text string) json.RawMessage {
	switch strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return []byte("true")
	case "false", "off", "no", "0":
		return []byte("false")
	}
	return plain(text)
}

func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return []byte(text)
	}
	return plain(text)
}

func plain(text string) json.RawMessage { return jsontext.AppendString(nil, text) }

// Read returns body as JSON if it is a form, and else as it is. A field without text is left out: a form sends all that
// it has. Tags have commas between them, or come as several fields; rules, a split and a card are JSON. Errors are
// problems, or an engine.FieldError of a field that is a file.
func Read(body jsonbody.Body) (jsonbody.Body, error) {
	if string(body.MediaType) == jsonbody.JSON { // as nearly always
		return body, nil
	}
	var b builder
	if is, err := Each(body, b.add); err != nil || !is {
		return body, err
	}
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: b.object()}, nil
}

// errForm is the problem of a form that cannot be read.
var errForm = problem.New(problem.BadRequest, "the body is not a form as its Content-Type says")

// Each calls add with each field of a form, in their order, and reports whether body is one. Names and values are
// UTF-8. Errors are those of Read, and those of add.
func Each(body jsonbody.Body, add func(name, value string) error) (is bool, err error) {
	switch mediaType, parameters, _ := mime.ParseMediaType(string(body.MediaType)); mediaType {
	case encoded:
		return true, eachEncoded(string(body.Text), checked(add))
	case parts:
		return true, eachPart(body.Text, parameters["boundary"], checked(add))
	}
	return false, nil
}

// EachOfQuery does what Each does for the query of an address.
func EachOfQuery(query string, add func(name, value string) error) error {
	err := eachEncoded(query, checked(add))
	if errors.Is(err, errForm) {
		err = problem.New(problem.BadRequest, "the query is malformed: a percent sign must be sent as %%25, and text as UTF-8")
	}
	return err
}

// checked returns add for fields that are text, of which there may be maxFields.
func checked(add func(name, value string) error) func(name, value string) error {
	fields := 0
	return func(name, value string) error {
		fields++
		switch {
		case fields > maxFields:
			return problem.New(problem.BadRequest, "a form may have at most %d fields", maxFields)
		case !utf8.ValidString(name):
			return errForm
		case !utf8.ValidString(value):
			return jsonbody.FieldError(name, "characters", "must be UTF-8")
		}
		return add(name, value)
	}
}

func eachEncoded(text string, add func(name, value string) error) error {
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if errors.Join(errName, errValue) != nil {
			return errForm
		}
		if err := add(name, value); err != nil {
			return err
		}
	}
	return nil
}

func eachPart(text []byte, boundary string, add func(name, value string) error) error {
	if boundary == "" {
		return errForm
	}
	r := multipart.NewReader(bytes.NewReader(text), boundary)
	for {
		part, err := r.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errForm
		}
		value, err := io.ReadAll(part)
		switch {
		case err != nil:
			return errForm
		case part.FileName() != "":
			return jsonbody.FieldError(part.FormName(), "type", "must not be a file")
		}
		if err := add(part.FormName(), string(value)); err != nil {
			return err
		}
	}
}

// A builder makes the object.
type builder struct {
	text []byte
	tags []string
}

// add adds a field. One that comes twice is there twice in the object, too, and is refused as it is there.
func (b *builder) add(name, value string) error {
	if value == "" {
		return nil
	}
	if name == "tags" {
		b.tags = append(b.tags, tagtext.Split(value)...)
		return nil
	}
	kind := kinds[name]
	if kind == nil {
		kind = plain
	}
	b.member(name, kind(value))
	return nil
}

func (b *builder) member(name string, value json.RawMessage) {
	b.text = append(b.text, ',')
	b.text = append(jsontext.AppendString(b.text, name), ':')
	b.text = append(b.text, value...)
}

// object returns the object of all fields.
func (b *builder) object() []byte {
	if b.tags != nil {
		b.member("tags", jsontext.AppendStrings(nil, b.tags))
	}
	if b.text == nil {
		return []byte("{}")
	}
	b.text[0] = '{'
	return append(b.text, '}')
}
