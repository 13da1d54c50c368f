// Package shunt_test holds the direction of the dependencies: cmd → api → engine ← storage, bench → all.
package shunt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "shunt/"

// A layer says what the packages of one top-level folder may know. Tests are free: they use the real store.
type layer struct {
	// imports are the layers that may be imported beside the package's own.
	imports []string
	// direct must not be imported by the package itself; transitive must not be reached on any way.
	direct, transitive []string
}

const (
	fasthttp   = "github.com/valyala/fasthttp"
	pebble     = "github.com/cockroachdb/pebble/v2"
	prometheus = "github.com/prometheus/client_golang"
)

var layers = map[string]layer{
	"engine": {transitive: []string{fasthttp, pebble, prometheus, "net/http"}},
	// Pebble itself reaches Prometheus' client, so storage is held to what it imports itself.
	"storage": {imports: []string{"engine"}, direct: []string{fasthttp, prometheus, "net/http"}},
	"api":     {imports: []string{"engine"}, transitive: []string{pebble}},
	"cmd":     {imports: []string{"engine", "storage", "api"}, direct: []string{pebble}},
	"bench":   {imports: []string{"engine", "storage", "api"}},
}

// A room is a package that only some others may import, and that does not import some. Tests are free here too.
type room struct {
	users []string // packages that may import it
	never []string // packages that it must not reach on any way
}

var rooms = map[string]room{
	"storage/row":         {users: []string{"storage"}, never: []string{module + "storage", pebble}},
	"storage/row/rowtest": {never: []string{module + "storage", module + "storage/row", pebble}},
	"storage/crashtest":   {},
}

// intruders returns a violation for each import of a room that only others may use, and for what a room must not reach.
func intruders(p pkg) (found []string) {
	own := strings.TrimPrefix(p.ImportPath, module)
	for _, i := range p.Imports {
		to, _ := strings.CutPrefix(i, module)
		if r, known := rooms[to]; known && !slices.Contains(r.users, own) {
			found = append(found, fmt.Sprintf("%s imports the room %s", p.ImportPath, i))
		}
	}
	for _, dep := range p.Deps {
		if slices.Contains(rooms[own].never, dep) {
			found = append(found, fmt.Sprintf("%s reaches %s", p.ImportPath, dep))
		}
	}
	return found
}

// alone are packages that need the standard library and nothing else: programs of others take on what they import.
var alone = []string{module + "api/client"}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestDependenciesPointOneWay(t *testing.T) {
	sources(t, ".go") // looks at every file, so that go test does not take its cached result after a change
	for _, tags := range []string{"", "shuntinvariants", "race"} {
		for _, violation := range violations(listPackages(t, tags)) {
			t.Errorf("with -tags %q: %s", tags, violation)
		}
	}
}

func listPackages(t *testing.T, tags string) []pkg {
	t.Helper()
	list := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Imports,Deps", "./...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := pkg{}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func violations(packages []pkg) []string {
	var found []string
	for _, p := range packages {
		own := folder(p.ImportPath)
		if own == "" {
			continue // the folder of this test
		}
		l, known := layers[own]
		if !known {
			found = append(found, fmt.Sprintf("%s is in no known layer", p.ImportPath))
			continue
		}
		for _, i := range p.Imports {
			if to := folder(i); to != "" && to != own && !slices.Contains(l.imports, to) {
				found = append(found, fmt.Sprintf("%s imports %s", p.ImportPath, i))
			}
		}
		found = append(found, intruders(p)...)
		found = append(found, reached(p.ImportPath, "imports", p.Imports, l.direct)...)
		found = append(found, reached(p.ImportPath, "depends on", p.Deps, l.transitive)...)
		if slices.Contains(alone, p.ImportPath) {
			found = append(found, company(p)...)
		}
	}
	return found
}

// company returns a violation for each package that p needs and that is not of the standard library: there, the first folder of a
// path has no dot.
func company(p pkg) (found []string) {
	for _, dep := range p.Deps {
		if first, _, _ := strings.Cut(dep, "/"); folder(dep) != "" || strings.Contains(first, ".") {
			found = append(found, fmt.Sprintf("%s depends on %s", p.ImportPath, dep))
		}
	}
	return found
}

// folder returns the top-level folder of one of our packages, "" of any other.
func folder(importPath string) string {
	path, ours := strings.CutPrefix(importPath, module)
	if !ours {
		return ""
	}
	first, _, _ := strings.Cut(path, "/")
	return first
}

func reached(importPath, verb string, packages, forbidden []string) []string {
	var found []string
	for _, p := range packages {
		for _, f := range forbidden {
			if p == f || strings.HasPrefix(p, f+"/") {
				found = append(found, fmt.Sprintf("%s %s %s", importPath, verb, p))
			}
		}
	}
	return found
}

func TestEachForbiddenDependencyIsFound(t *testing.T) {
	for name, p := range map[string]pkg{
		"engine reaches fasthttp through another package": {ImportPath: "shunt/engine", Deps: []string{fasthttp + "/fasthttputil"}},
		"engine reaches Pebble":                           {ImportPath: "shunt/engine", Deps: []string{pebble}},
		"engine reaches Prometheus":                       {ImportPath: "shunt/engine", Deps: []string{prometheus + "/prometheus"}},
		"engine imports storage":                          {ImportPath: "shunt/engine", Imports: []string{"shunt/storage"}},
		"api imports storage":                             {ImportPath: "shunt/api", Imports: []string{"shunt/storage"}},
		"a package under api imports storage":             {ImportPath: "shunt/api/account", Imports: []string{"shunt/storage"}},
		"storage imports api":                             {ImportPath: "shunt/storage", Imports: []string{"shunt/api"}},
		"storage imports Prometheus":                      {ImportPath: "shunt/storage", Imports: []string{prometheus + "/prometheus"}},
		"a row reaches storage":                           {ImportPath: "shunt/storage/row", Deps: []string{"shunt/storage"}},
		"a row reaches Pebble":                            {ImportPath: "shunt/storage/row", Deps: []string{pebble}},
		"cmd imports rows":                                {ImportPath: "shunt/cmd/shunt", Imports: []string{"shunt/storage/row"}},
		"storage imports the model of its tests":          {ImportPath: "shunt/storage", Imports: []string{"shunt/storage/row/rowtest"}},
		"bench imports the crash tests":                   {ImportPath: "shunt/bench", Imports: []string{"shunt/storage/crashtest"}},
		"cmd imports bench":                               {ImportPath: "shunt/cmd/shunt", Imports: []string{"shunt/bench"}},
		"the client imports the accounts":                 {ImportPath: "shunt/api/client", Deps: []string{"net/http", "shunt/api/account"}},
		"the client reaches a module of others":           {ImportPath: "shunt/api/client", Deps: []string{"vendor/golang.org/x/net/idna", "golang.org/x/net/idna"}},
		"a folder that the design does not know":          {ImportPath: "shunt/util"},
	} {
		t.Run(name, func(t *testing.T) {
			if found := violations([]pkg{p}); len(found) != 1 {
				t.Errorf("got %q, want one violation", found)
			}
		})
	}
}

// ARCHITECTURE.md names the test that holds each invariant, and files; both must be there.

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
	namedFile = regexp.MustCompile("`([a-z]+/[a-z_/]+\\.go)`")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)\(`)
)

func TestArchitectureNamesTestsAndFilesThatExist(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 150 {
		t.Errorf("it has %d lines, want at most 150", lines)
	}
	tests := map[string]bool{}
	for _, source := range sources(t, "_test.go") {
		for _, m := range testFunc.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
	}
	named := namedTest.FindAllSubmatch(text, -1)
	if len(named) < 10 {
		t.Errorf("it names only %d tests", len(named))
	}
	for _, m := range named {
		if !tests[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for _, m := range namedFile.FindAllSubmatch(text, -1) {
		if _, err := os.Stat(string(m[1])); err != nil {
			t.Error(err)
		}
	}
}

// sources returns the contents of the module's files whose names end in suffix.
func sources(t *testing.T, suffix string) (contents [][]byte) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, suffix) {
			return err
		}
		source, err := os.ReadFile(path)
		contents = append(contents, source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}
