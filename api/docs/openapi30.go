package docs

import (
	"regexp"
	"sync"
)

// OpenAPI30 returns OpenAPI in version 3.0.3, for tools that do not read 3.1. It is made from
// OpenAPI, so that the two cannot differ, at the first call. kin-openapi converts only upwards.
var OpenAPI30 = sync.OnceValue(func() Document { return NewDocument(openAPI30(OpenAPI.Body)) })

// to30 are the parts of 3.1 that openapi.json uses, and what 3.0 has for them.
var to30 = []struct {
	part   *regexp.Regexp
	become string
}{
	{regexp.MustCompile(`^\{"openapi":"3\.1\.0"`), `{"openapi":"3.0.3"`},
	{regexp.MustCompile(`("info":\{"title":"[^"]*","version":"[^"]*"),"summary":"[^"]*"`), `$1`},
	{regexp.MustCompile(`("license":\{"name":"[^"]*"),"identifier":"([^"]*)"`), `$1,"url":"https://spdx.org/licenses/$2.html"`},
	{regexp.MustCompile(`\{("\$ref":"#/components/schemas/\w+"),"description":`), `{"allOf":[{$1}],"description":`},
	{regexp.MustCompile(`"type":\["(\w+)","null"\]`), `"type":"$1","nullable":true`},
}

var (
	componentOrNull = regexp.MustCompile(`"anyOf":\[(\{"\$ref":"#/components/schemas/(\w+)"\}),\{"type":"null"\}\]`)
	componentType   = regexp.MustCompile(`"(\w+)":\{"type":("\w+")`)
)

// openAPI30 converts a document of version 3.1, without white space, to version 3.0.3. It leaves what it does not
// know as it is; tests hold that the result is valid, and allows null in the same places.
//
// A component or null becomes {"type": its type, "allOf": [the component], "nullable": true}. By the letter of 3.0.3
// that does not accept null, because the component does not. But tools read it as accepting null, and some cannot
// read the form that is right by the letter: the component's enum repeated with null.
func openAPI30(text []byte) []byte {
	for _, rule := range to30 {
		text = rule.part.ReplaceAll(text, []byte(rule.become))
	}
	types := make(map[string]string)
	for _, m := range componentType.FindAllSubmatch(text, -1) {
		types[string(m[1])] = string(m[2])
	}
	return componentOrNull.ReplaceAllFunc(text, func(found []byte) []byte {
		m := componentOrNull.FindSubmatch(found)
		return []byte(`"type":` + types[string(m[2])] + `,"allOf":[` + string(m[1]) + `],"nullable":true`)
	})
}
