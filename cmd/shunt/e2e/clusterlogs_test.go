package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"shunt/engine/expect"
)

// keepIfFailed keeps what a failed run said, and its data, in a folder that it names.
func (m *nemesis) keepIfFailed() {
	if !m.t.Failed() {
		return
	}
	folder, err := os.MkdirTemp("", "shunt-nemesis-")
	if err != nil {
		m.t.Errorf("nothing is kept of this run: %v", err)
		return
	}
	m.t.Logf("seed %d: notes, logs and data are in %s", m.seed, folder)
	m.mu.Lock()
	keep(m, filepath.Join(folder, "notes.txt"), strings.Join(m.mu.notes, "\n")+"\n")
	m.mu.Unlock()
	for _, n := range m.all() {
		n.kill()
		for i, run := range n.runs {
			keep(m, filepath.Join(folder, fmt.Sprintf("%s-%03d.log", n.name, i)), run.stderr())
		}
		expect.NoError(m.t, os.Rename(n.data, filepath.Join(folder, "data-"+n.name)))
	}
	for _, server := range m.etcd.Members {
		keep(m, filepath.Join(folder, server.Name+".log"), server.Said())
	}
}

func keep(m *nemesis, path, content string) {
	expect.NoError(m.t, os.WriteFile(path, []byte(content), 0o600))
}
