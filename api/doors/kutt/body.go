package kutt

import (
	"encoding/json"
	"strconv"
	"time"

	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/form"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/problem"
)

// A body has the fields of a request by Kutt's names, each in JSON as it was sent. Those that are empty, null or false
// are left out, as Kutt does not look at them.
type body map[string]json.RawMessage

// read returns the body of a request: JSON, or a form.
func read(r *door.Request) (b body, err error) {
	sent := exchange.BodyOf(r.Ctx)
	b = make(body)
	is, err := form.Each(sent, func(name, value string) error {
		switch {
		case value == "":
		case name == "reuse":
			b[name] = json.RawMessage(strconv.FormatBool(value == "true" || value == "on" || value == "1"))
		default:
			b[name] = jsontext.AppendString(nil, value)
		}
		return nil
	})
	if is || err != nil {
		return b, err
	}
	if err := sent.WantJSON(); err != nil {
		return nil, err
	}
	members, err := jsonbody.Object(sent.Text)
	for _, m := range members {
		switch string(m.Value) {
		case "null", `""`, "false":
		default:
			b[string(m.Name)] = m.Value
		}
	}
	return b, err
}

// names are those of the fields of a link, by those of the API.
var names = map[string]string{
	"url": "target", "alias": "customurl", "note": "description", "expires_at": "expire_in",
	"password": "password", "domain": "domain", "reuse": "reuse",
}

// shared puts what a new and an edited link have into f.
func (b body) shared(f *door.Fields, now time.Time) error {
	for _, name := range []string{"url", "note", "password"} {
		if value, sent := b[names[name]]; sent {
			f.Raw(name, value)
		}
	}
	value, sent := b["expire_in"]
	if !sent {
		return nil
	}
	text, err := jsonbody.String(value)
	if err != nil {
		return refused("Expire format is invalid. Valid examples: 1m, 8h, 42 days.")
	}
	long, wrong := parseSpan(text)
	if wrong != "" {
		return refused(wrong)
	}
	f.Raw("expires_at", jsontext.AppendTime(nil, now.Add(long)))
	return nil
}

// refused returns the error of a value that the API has not.
func refused(message string) error { return problem.New(problem.BadRequest, "%s", message) }
