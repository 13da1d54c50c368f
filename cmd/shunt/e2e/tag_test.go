package e2e

import (
	"path/filepath"
	"testing"
)

func TestTagsAreTypedAsOnThePages(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	run("token", "add", "--name", "n", "--init")
	run("add", "https://example.org/", "--alias", "x", "--tag", "News, b", "--tag", "news", "--tag", `"a, b"`).want(t, exitDone, `/x\n$`, "")
	run("show", "x").want(t, exitDone, `\ntag +News, b, "a, b"\n`, "")
	run("edit", "x", "--tag", "b,,c ,B").want(t, exitDone, `\ntag +b, c\n`, "")
	run("edit", "x", "--tag", "").want(t, exitDone, `\ntag +-\n`, "")
}

func TestTagsAreListedRenamedAndDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	startServer(t, dir)
	run := func(args ...string) result { return shunt(t, "", nil, append(args, "--data", dir)...) }
	run("tag", "ls").want(t, exitDone, `^TAG +LINKS\n$`, "")
	run("add", "https://example.org/", "--alias", "x", "--tag", "News,a/b")
	run("add", "https://example.org/", "--alias", "y", "--tag", "news")
	run("tag", "ls").want(t, exitDone, `^TAG +LINKS\na/b +1\nnews +2\n$`, "")
	run("tag", "ls", "--q", "NE", "--json").want(t, exitDone, `^\{"name":"news","links":2\}\n$`, "")
	run("ls", "--tag", "NEWS").want(t, exitDone, `\ny [^\n]*\nx [^\n]*\n$`, "")
	run("tag", "rename", "A/B", "Print").want(t, exitDone, "^$", `^shunt: changed 1 link\n$`)
	run("tag", "rename", "news", "print").want(t, exitDone, "^$", `^shunt: changed 2 links\n$`)
	run("show", "x").want(t, exitDone, `\ntag +print\n`, "")
	run("tag", "rm", "PRINT").want(t, exitDone, "^$", `^shunt: changed 2 links\n$`)
	run("tag", "rm", "print").want(t, exitFailed, "^$", `^shunt: tag rm print: .*no link has this tag \(404 not_found\)\n$`)
	run("tag", "rename", "x", "").want(t, exitUsage, "^$", "NAME is empty")
	shunt(t, "", nil, "tag").want(t, exitUsage, "", "name a command of shunt tag")
	run("tag", "ls", "--owner", "all").want(t, exitUsage, "^$", "must be a user's ID")
	run("audit", "--code", "x").want(t, exitDone, `tags: print → `, "")
}
