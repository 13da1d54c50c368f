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

	"shunt/engine/expect"
)

// keyTypes are the types that have a domain beside a code.
var keyTypes = []string{"Key", "KeyView", "Ask"}

// A key without its domain would be one in the default domain, silently: so no literal leaves it out, but the empty
// one. Nor does a draft of a link, but in tests.
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
			if l, ok := n.(*ast.CompositeLit); ok && (forgetsDomain(l) || !strings.HasSuffix(file, "_test.go") && forgetsDomainOfDraft(l, file)) {
				t.Errorf("%s: a key, or a draft, without its domain", positions.Position(l.Pos()))
			}
			return true
		})
		return nil
	})
	expect.OK(t, err)
}

// forgetsDomain reports whether l has a code and no domain.
func forgetsDomain(l *ast.CompositeLit) bool {
	_, name := typeOf(l)
	fields := fieldsOf(l)
	return slices.Contains(keyTypes, name) && slices.Contains(fields, "Code") && !slices.Contains(fields, "Domain")
}

// forgetsDomainOfDraft reports whether l is a draft of the engine with any field but the domain. The client has drafts,
// too, which have none.
func forgetsDomainOfDraft(l *ast.CompositeLit, file string) bool {
	of, name := typeOf(l)
	ofEngine := of == "engine" || of == "link" || of == "" && strings.HasPrefix(filepath.ToSlash(file), "engine/")
	fields := fieldsOf(l)
	return ofEngine && name == "Draft" && len(fields) > 0 && !slices.Contains(fields, "Domain")
}

// typeOf returns the package and the name of a literal's type.
func typeOf(l *ast.CompositeLit) (of, name string) {
	switch x := l.Type.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
		if id, ok := x.X.(*ast.Ident); ok {
			of = id.Name
		}
	}
	return of, name
}

// fieldsOf returns the names of the fields that a literal sets.
func fieldsOf(l *ast.CompositeLit) (fields []string) {
	for _, e := range l.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				fields = append(fields, id.Name)
			}
		}
	}
	return fields
}

func TestAForgottenDomainIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		`engine.Key{Code: "a"}`: true, `KeyView{Code: code}`: true, `engine.Key{Domain: 1, Code: "a"}`: false, `engine.Key{}`: false,
		`Problem{Code: "a"}`: false, `Key{d, "a"}`: false,
	} {
		x, err := parser.ParseExpr(text)
		expect.That(t, err == nil && forgetsDomain(x.(*ast.CompositeLit)) == want, "%s: %v, want %v", strings.TrimSpace(text), err, want)
	}
}

func TestAForgottenDomainOfADraftIsFound(t *testing.T) {
	for _, c := range []struct {
		text, file string
		want       bool
	}{
		{`engine.Draft{Alias: "a"}`, "api/x.go", true}, {`link.Draft{Owner: 1}`, "api/x.go", true}, {`Draft{Target: "a"}`, "engine/link/x.go", true},
		{`engine.Draft{Domain: d, Alias: "a"}`, "api/x.go", false}, {`engine.Draft{}`, "api/x.go", false},
		{`client.Draft{Alias: "a"}`, "cmd/x.go", false}, {`Draft{Alias: "a"}`, "api/client/x.go", false},
	} {
		x, err := parser.ParseExpr(c.text)
		expect.That(t, err == nil && forgetsDomainOfDraft(x.(*ast.CompositeLit), c.file) == c.want, "%s in %s: %v, want %v", c.text, c.file, err, c.want)
	}
}
