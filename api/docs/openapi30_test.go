package docs

import "testing"

func TestExamplesAreTheSameInBothVersions(t *testing.T) {
	const text = `{"openapi":"3.1.0","info":{"title":"t","summary":"s","license":{"name":"n","identifier":"i"}},` +
		`"components":{"schemas":{"A":{"type":["string","null"],"example":{"type":["string","null"]},"default":null}}}}`
	const want = `{"openapi":"3.0.3","info":{"title":"t","license":{"name":"n","url":"https://spdx.org/licenses/i.html"}},` +
		`"components":{"schemas":{"A":{"type":"string","example":{"type":["string","null"]},"default":null,"nullable":true}}}}`
	if got, err := openAPI30([]byte(text)); string(got) != want || err != nil {
		t.Errorf("got %s %v\nwant %s", got, err, want)
	}
}
