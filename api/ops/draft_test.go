package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
	"shunt/engine/expect"
)

// plainValues are values of every plain type.
var plainValues = []string{`"text"`, `7`, `-1`, `true`, `false`, `["a","b"]`, `[]`}

func TestANewFieldIsReadFromPlainBodies(t *testing.T) {
	for _, value := range plainValues {
		var got []string
		read := func(_ *askedLink, value json.RawMessage) error {
			got = append(got, string(value))
			return nil
		}
		fields := fieldsOfTable(t, append(slices.Clone(table), row{name: "brand_new", read: read}))
		r := linkReader{domains: onlyDefault(t, "https://sho.rt"), now: time.Now()}
		err := r.read(fmt.Appendf(nil, `{"url":"https://a.example/","brand_new":%s}`, value), fields)
		expect.That(t, err == nil && slices.Equal(got, []string{value}) && slices.Equal(r.sent, []string{"url", "brand_new"}),
			"%s: read as %q, sent %q, %v", value, got, r.sent, err)
	}
}

func TestAFieldThatNoRowHasIsRefused(t *testing.T) {
	c := &Calls{o: Options{Domains: onlyDefault(t, "https://sho.rt")}}
	for _, value := range append(plainValues, `null`, `1.5`, `{}`) {
		body := fmt.Appendf(nil, `{"url":"https://a.example/","brand_new":%s}`, value)
		_, err := c.parseDraft(body, benchCaller, nil, time.Now())
		want := engine.InvalidError{{Field: "brand_new", Code: "unknown", Message: "is not a field of this request"}}
		invalid, ok := err.(engine.InvalidError)
		expect.That(t, ok && slices.Equal(invalid, want), "%s: got %v, want %v", body, err, want)
	}
}

// TestEveryReaderOfTheTableIsCalled sends each field alone, in both kinds of body.
func TestEveryReaderOfTheTableIsCalled(t *testing.T) {
	for i := range table {
		for kind, reader := range map[string]jsonbody.Reader[askedLink]{"create": table[i].read, "import": table[i].imported} {
			fields := map[string]jsonbody.Fields[askedLink]{"create": createFields, "import": importFields}[kind]
			expect.Equal(t, fields.Has(table[i].name), reader != nil, "%s: %s is known", kind, table[i].name)
			members, err := jsonbody.Object(fmt.Appendf(nil, `{%q:{"not":"plain"}}`, table[i].name))
			expect.OK(t, err)
			sent, _, invalid := jsonbody.Read(members, &askedLink{domains: onlyDefault(t, "https://sho.rt")}, fields)
			skipped := len(sent) == 1 && len(invalid) == 0
			expect.That(t, !skipped || isSkipped(table[i].name), "%s: an object as %s was ignored", kind, table[i].name)
		}
	}
}

// isSkipped reports whether an import leaves out the field, because the server sets it.
func isSkipped(name string) bool {
	return slices.Contains([]string{"short_url", "state", "owner", "folder", "unique", "warnings"}, name)
}

// fieldsOfTable returns the fields of a creation that another table has.
func fieldsOfTable(t *testing.T, rows []row) jsonbody.Fields[askedLink] {
	t.Helper()
	whole := table
	defer func() { table = whole }()
	table = rows
	return fieldsOf(func(f *row) jsonbody.Reader[askedLink] { return f.read })
}

func TestReadingAPlainLinkNeedsFewAllocations(t *testing.T) {
	c := &Calls{o: Options{Domains: onlyDefault(t, "https://sho.rt")}}
	body := []byte(benchBodies[0].text)
	got := testing.AllocsPerRun(100, func() {
		if _, err := c.parseDraft(body, benchCaller, nil, benchNow); err != nil {
			t.Fatal(err)
		}
	})
	if got > 7 { // the draft, Same, the names that were sent, the address as sent and as kept
		t.Errorf("got %v allocations, want at most 7", got)
	}
}

func TestARoomThatIsReleasedKeepsNothingOfABody(t *testing.T) {
	many := `{"url":"https://a.example/"` + strings.Repeat(`,"x":1`, 30) + `}`
	for name, body := range map[string]string{
		"plain": benchBodies[0].text, "more members than it has room for": many, "cut off": many[:60], "not plain": `{"url":"https://a.example/","x":{}}`,
	} {
		room := &bulkRoom{reader: linkReader{domains: onlyDefault(t, "https://sho.rt"), user: 1, now: benchNow}}
		r := &room.reader
		_ = r.readDraft(&engine.Draft{}, []byte(body)) // some are refused
		room.release()
		for i := range r.members {
			expect.That(t, r.members[i].Name == nil && r.members[i].Value == nil, "%s: member %d is left", name, i)
		}
	}
}
