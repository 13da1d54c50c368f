package card

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/engine"
)

// A Policy returns an address as it is stored, or the error of a target.
type Policy func(raw string) (string, error)

// Read reads a card: an object with a title, and perhaps a description and the address of an image. The error is that
// of the first field that is wrong, such as card.image.
func Read(value json.RawMessage, policy Policy) (engine.Card, error) {
	p, err := ReadPatch(value, policy)
	if err != nil {
		return engine.Card{}, err
	}
	if p.to.Title == "" {
		return engine.Card{}, errNoTitle
	}
	return p.to, nil
}

// A Patch is a change of parts of a card, as RFC 7396 has it: what is not sent stays, and null removes.
type Patch struct {
	Sent  bool
	names []string // of the parts that were sent
	to    engine.Card
}

// ReadPatch reads a change of a card, as Read does a card.
func ReadPatch(value json.RawMessage, policy Policy) (p Patch, err error) {
	if value[0] != '{' {
		return p, jsonbody.FieldError("", "type", "must be an object")
	}
	members, err := jsonbody.Object(value)
	if err != nil {
		return p, err
	}
	a := asked{policy: policy}
	sent, null, invalid := jsonbody.Read(members, &a, fields)
	if len(invalid) > 0 {
		invalid[0].Field = "card." + invalid[0].Field
		return p, invalid[0]
	}
	return Patch{true, append(sent, null...), a.card}, nil
}

// Apply returns a card with what p changes; it is none if nothing is left of it. The error is that of one without a
// title.
func (p *Patch) Apply(c engine.Card) (engine.Card, error) {
	for _, name := range p.names {
		switch name {
		case "title":
			c.Title = p.to.Title
		case "description":
			c.Description = p.to.Description
		case "image":
			c.Image = p.to.Image
		}
	}
	if c.Title == "" && c != (engine.Card{}) {
		return c, errNoTitle
	}
	return c, nil
}

var errNoTitle = jsonbody.FieldError("card.title", "required", "must be given")

type asked struct {
	card   engine.Card
	policy Policy
}

var fields = jsonbody.NewFields(map[string]jsonbody.Reader[asked]{
	"title":       text(func(a *asked) *string { return &a.card.Title }, engine.MaxCardTitleBytes),
	"description": text(func(a *asked) *string { return &a.card.Description }, engine.MaxCardDescriptionBytes),
	"image": func(a *asked, value json.RawMessage) error {
		raw, err := jsonbody.String(value)
		if err != nil {
			return err
		}
		a.card.Image, err = readImage(raw, a.policy)
		return err
	},
})

// text returns the reader of a text, of which line feeds and spaces at its ends say nothing.
func text(of func(*asked) *string, maxBytes int) jsonbody.Reader[asked] {
	return func(a *asked, value json.RawMessage) error {
		read, err := jsonbody.String(value)
		if err != nil {
			return err
		}
		switch read = strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ").Replace(read)); {
		case len(read) > maxBytes:
			return tooLong(maxBytes)
		case strings.ContainsFunc(read, unicode.IsControl):
			return jsonbody.FieldError("", "characters", "must not contain control characters")
		}
		*of(a) = read
		return nil
	}
}

// readImage returns the address of an image as it is stored; none if raw is empty.
func readImage(raw string, policy Policy) (string, error) {
	image, err := policy(raw)
	switch {
	case err != nil:
		if wrong := (engine.FieldError{}); errors.As(err, &wrong) {
			wrong.Field = "image"
			return "", wrong
		}
		return "", err
	case !isWeb(image):
		return "", jsonbody.FieldError("", "scheme", "must begin with http:// or https://")
	case len(image) > engine.MaxCardImageBytes:
		return "", tooLong(engine.MaxCardImageBytes)
	}
	return image, nil
}

// isWeb reports whether an address is one that programs load pictures from.
func isWeb(address string) bool {
	scheme, _, _ := strings.Cut(address, "://")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

func tooLong(maxBytes int) error {
	return jsonbody.FieldError("", "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes")
}

// Append appends a card in JSON. What it does not have is null, and so is none.
func Append(dst []byte, c *engine.Card) []byte {
	if *c == (engine.Card{}) {
		return append(dst, "null"...)
	}
	dst = jsontext.AppendString(append(dst, `{"title":`...), c.Title)
	dst = appendOrNull(append(dst, `,"description":`...), c.Description)
	dst = appendOrNull(append(dst, `,"image":`...), c.Image)
	return append(dst, '}')
}

func appendOrNull(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return jsontext.AppendString(dst, text)
}
