package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

var (
	clusterTests = regexp.MustCompile(`(?m)^CLUSTERTESTS='([^']+)'$`)
	provenTests  = regexp.MustCompile(`(?m)\btests \./cmd/shunt/\S+ '([^']+)'`)
)

// TestTheProofsOfClustersRunAllTheirTests: a test that needs etcd runs nowhere but in .ci/proof, which chooses tests by
// parts of their names. Figures are measured by hand.
func TestTheProofsOfClustersRunAllTheirTests(t *testing.T) {
	text, err := os.ReadFile("../../../.ci/proof")
	expect.OK(t, err)
	found := clusterTests.FindSubmatch(text)
	expect.MustThat(t, found != nil, ".ci/proof has no CLUSTERTESTS")
	patterns := []string{string(found[1])}
	for _, m := range provenTests.FindAllSubmatch(text, -1) {
		patterns = append(patterns, string(m[1]))
	}
	tests := testsHere(t)
	for alternative := range strings.SplitSeq(patterns[0], "|") {
		matches := regexp.MustCompile(alternative)
		some := false
		for name := range tests {
			some = some || matches.MatchString(name)
		}
		expect.That(t, some, "%q of CLUSTERTESTS matches no test", alternative)
	}
	proven, needing := regexp.MustCompile(strings.Join(patterns, "|")), 0
	for name, needsEtcd := range tests {
		if needsEtcd && !strings.HasPrefix(name, "TestFigures") {
			needing++
			expect.That(t, proven.MatchString(name), "no proof runs %s, which needs etcd", name)
		}
	}
	expect.That(t, needing > 40, "only %d tests need etcd", needing)
}

// testsHere returns the tests of this folder by name, and whether each starts servers of etcd, by functions of this
// folder, too.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("*_test.go")
	expect.OK(t, err)
	calls := make(map[string]map[string]bool) // of functions, by name: the functions that they call
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		expect.OK(t, err)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil {
				calls[fn.Name.Name] = callsIn(fn.Body)
			}
		}
	}
	needs := map[string]bool{etcdPackage: true}
	for before := 0; before < len(needs); {
		before = len(needs)
		for name, called := range calls {
			for one := range called {
				if needs[one] {
					needs[name] = true
				}
			}
		}
	}
	tests := make(map[string]bool)
	for name := range calls {
		if strings.HasPrefix(name, "Test") {
			tests[name] = needs[name]
		}
	}
	return tests
}

const etcdPackage = "etcdtest"

// callsIn returns the functions of this folder that a body calls, and etcdPackage if it calls one of that.
func callsIn(body *ast.BlockStmt) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fn := call.Fun.(type) {
		case *ast.Ident:
			names[fn.Name] = true
		case *ast.SelectorExpr:
			if of, ok := fn.X.(*ast.Ident); ok && of.Name == etcdPackage {
				names[etcdPackage] = true
			}
		}
		return true
	})
	return names
}
