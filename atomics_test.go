package shunt_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// atomicTypes are what of sync/atomic is aligned on every machine. Its functions need words of 64 bits whose address
// is a multiple of 8, and panic otherwise: on a 32-bit machine a field, a variable or an element has any multiple of 4.
var atomicTypes = map[string]bool{
	"Bool": true, "Int32": true, "Int64": true, "Pointer": true, "Uint32": true, "Uint64": true, "Uintptr": true, "Value": true,
}

func TestAtomicWordsAreAlignedOnEveryMachine(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		for _, found := range unalignedAtomics(t, path, nil) {
			t.Error(found)
		}
		return nil
	})
	expect.OK(t, err)
}

func TestFunctionsOfAtomicsAreFound(t *testing.T) {
	const source = `package p
import renamed "sync/atomic"
var typed renamed.Int64
var word uint64
func f() { typed.Add(1); renamed.AddUint64(&word, 1) }
var load = renamed.LoadInt32
`
	got := fmt.Sprint(unalignedAtomics(t, "a.go", source))
	expect.That(t, strings.Count(got, "a.go:") == 2 && strings.Contains(got, "a.go:5:") && strings.Contains(got, "atomic.AddUint64") &&
		strings.Contains(got, "a.go:6:"), "got %s, want the function in lines 5 and 6", got)
}

// unalignedAtomics returns what a file uses of sync/atomic beside its types. Without a source the file is read.
func unalignedAtomics(t *testing.T, name string, source any) (found []string) {
	t.Helper()
	places := token.NewFileSet()
	file, err := parser.ParseFile(places, name, source, parser.SkipObjectResolution)
	expect.OK(t, err)
	local := ""
	for _, imported := range file.Imports {
		if path, _ := strconv.Unquote(imported.Path.Value); path == "sync/atomic" {
			local = "atomic"
			if imported.Name != nil {
				local = imported.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == local && !atomicTypes[selector.Sel.Name] {
			found = append(found, fmt.Sprintf("%s: atomic.%s is not for every machine; use a type of sync/atomic", places.Position(n.Pos()), selector.Sel.Name))
		}
		return true
	})
	return found
}
