package words

import (
	"encoding/json"
	"regexp"
)

// scriptKey is a text of the script: the first argument of its functions said and counted, and the others of counted.
var scriptKey = regexp.MustCompile(`\bsaid\('((?:[^'\\]|\\.)*)'|\bcounted\([^,]*, '([^']*)', '([^']*)'`)

// ScriptKeys returns the keys of a script.
func ScriptKeys(script string) (keys []string) {
	for _, m := range scriptKey.FindAllStringSubmatch(script, -1) {
		for _, key := range m[1:] {
			if key != "" {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Script returns the texts of a script in the language of c, as an object of JavaScript.
func (c *Catalog) Script(script string) string {
	texts := make(map[string]string)
	for _, key := range ScriptKeys(script) {
		if text := c.of(key); text != key {
			texts[key] = text
		}
	}
	text, _ := json.Marshal(texts) // strings can always be encoded
	return string(text)
}
