package yourls

import (
	"strconv"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// manner is how links are made: a target is known whatever its title is, and with a keyword, too.
var manner = ops.Manner{Reusable: true, Apart: []string{"title"}}

// shorten is the action shorturl.
func (d *yourls) shorten(r *door.Request, caller account.Caller, v door.Values) (answer, error) {
	key, err := r.Key()
	if err != nil {
		return answer{}, err
	}
	if v["url"] == "" {
		return failedLink("error:nourl", "Missing or malformed URL", 400), nil
	}
	var f door.Fields
	f.Text("url", v["url"])
	f.Text("title", door.Line(v["title"]))
	if keyword := v["keyword"]; keyword != "" {
		f.Text("alias", keyword)
	} else {
		f.Yes("reuse")
	}
	link, existed, err := d.Ops.CreateAs(manner, caller, key, f.Body())
	if err != nil {
		return answer{}, err
	}
	a := madeLink(link, existed)
	if existed && d.unique && v["keyword"] == "" {
		a = repeated(a)
	}
	return a, nil
}

// madeLink is the answer with a link that was made, or that existed.
func madeLink(l *ops.Link, existed bool) answer {
	url := fields{{"keyword", l.Code}, {"url", l.Target}, {"title", l.Title}, {"date", stamp(l.CreatedAt)}, {"ip", ""}}
	message := trimmed(l.Target) + " added to database"
	if existed {
		url = append(url, field{"clicks", clicks(l.Hits)})
		message = trimmed(l.Target) + " already exists in database"
	}
	return answer{200, fields{
		{"url", url}, {"status", success}, {"code", ""}, {"message", message}, {"errorCode", ""}, {"title", l.Title},
		{"shorturl", l.ShortURL}, ok,
	}, l.ShortURL}
}

// repeated is a with an error in place of the success.
func repeated(a answer) answer {
	a.status = 400
	for i := range a.fields {
		switch f := &a.fields[i]; f.name {
		case "status":
			f.value = "fail"
		case "code":
			f.value = "error:url"
		case "errorCode":
			f.value = strconv.Itoa(a.status)
		case "statusCode":
			f.value = a.status
		}
	}
	return a
}

// maxShown is how many characters of a target a message has.
const maxShown = 60

// trimmed returns the beginning of a target, as YOURLS shows it.
func trimmed(target string) string {
	if text := []rune(target); len(text) > maxShown {
		return string(text[:maxShown-len("[...]")]) + "[...]"
	}
	return target
}

// failedLink is the answer to shorturl if no link was made. In the format simple it is empty.
func failedLink(code, message string, status int) answer {
	return answer{status, fields{
		{"status", "fail"}, {"code", code}, {"message", message}, {"errorCode", strconv.Itoa(status)}, {"statusCode", status},
	}, ""}
}

// notShortened is the answer to shorturl for a problem.
func notShortened(p problem.Problem, keyword string) answer {
	if e, found := door.Blame(p, "url"); found {
		switch e.Code {
		case "own_origin":
			return failedLink("error:noloop", "URL is a short URL", 400)
		case engine.BlockedTarget:
			return failedLink("error:spam", "The target is blocked here", 403)
		}
		return failedLink("error:nourl", "Missing or malformed URL: "+e.Message, 400)
	}
	if e, found := door.Blame(p, "alias"); found {
		return failedLink("error:keyword", "Short URL cannot be used: "+e.Message, 400)
	}
	switch {
	case p.Kind == problem.AliasTaken:
		return failedLink("error:keyword", "Short URL "+keyword+" already exists in database or is reserved", 400)
	case len(p.Fields) > 0:
		return failedLink("error:"+p.Fields[0].Field, door.Explain(p, map[string]string{"alias": "keyword"}), 400)
	case p.Kind.Status >= 500:
		return failedLink("error:db", "Error saving url to database: "+p.Detail, p.Kind.Status)
	}
	return failed(p.Kind.Status, p.Detail)
}
