package ops

import (
	"encoding/json"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/texts"
)

// FuzzFields checks that no value of any field makes a reader panic, and that every value it
// accepts is within the contract.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`"http://a"`, `301`, `["a","b"]`, `"2030-01-01T00:00:00Z"`, `true`, `1e3`, `-1`, `{}`, `["",null]`} {
		for name := range createFields {
			f.Add(name, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		if !createFields.Has(name) || !json.Valid(value) {
			return
		}
		r := askedLink{domains: onlyDefault(t, "https://sho.rt")}
		if err := fieldNamed[name].read(&r, value); err != nil {
			return
		}
		expect.MustThat(t, len(r.Title) <= texts.Named("title").Max && len(r.Tags) <= engine.MaxTags && len(r.Target) <= engine.MaxTargetBytes &&
			(name != "max_hits" || r.MaxHits != 0) && (name != "alias" || engine.ValidCode([]byte(r.Alias))), "%s %s: taken as %+v", name, value, r.Draft)
	})
}
