package shunt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keyTypes are the types that have a domain beside a code or an alias.
var keyTypes = []string{"Key", "KeyView"}

// A key without its domain would be one in the default domain, silently: so no literal leaves it out, but the empty one.
func TestNoKeyForgetsItsDomain(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(file) != ".go":
			return nil
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok && forgetsDomain(l) {
				t.Errorf("%s: a key without its domain", positions.Position(l.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forgetsDomain reports whether l has a code and no domain.
func forgetsDomain(l *ast.CompositeLit) bool {
	name := ""
	switch x := l.Type.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	var fields []string
	for _, e := range l.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				fields = append(fields, id.Name)
			}
		}
	}
	return slices.Contains(keyTypes, name) && slices.Contains(fields, "Code") && !slices.Contains(fields, "Domain")
}

func TestAForgottenDomainIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		`engine.Key{Code: "a"}`: true, `KeyView{Code: code}`: true, `engine.Key{Domain: 1, Code: "a"}`: false, `engine.Key{}`: false,
		`Problem{Code: "a"}`: false, `Key{d, "a"}`: false,
	} {
		x, err := parser.ParseExpr(text)
		if err != nil || forgetsDomain(x.(*ast.CompositeLit)) != want {
			t.Errorf("%s: %v, want %v", strings.TrimSpace(text), err, want)
		}
	}
}
