package e2e

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"shunt/storage"
)

// This file repeats what the binary promises, because these tests know it only from outside.

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const (
	envPrefix         = "SHUNT_"
	socketName        = "shunt.sock"  // in the data folder
	rememberedJournal = "journal-dir" // in the data folder: the path of the journal, if it is elsewhere

	sameSignal    = 200 * time.Millisecond // within this time, a second signal counts as the first
	maxImportLine = 1 << 20
	acmeNeeds     = "the domain's port 443 must lead to --listen, or its port 80 to --http-redirect-listen"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

// backupDone is the output of 'shunt backup --json'.
type backupDone struct {
	Dir   string `json:"dir"`
	Bytes uint64 `json:"bytes"`
	Files int    `json:"files"`
	Links uint64 `json:"links"`
}

// checkOutcome is the part of the output of 'shunt check --json' that the tests read.
type checkOutcome struct {
	Backup  bool                `json:"backup"`
	Live    bool                `json:"live"`
	OK      bool                `json:"ok"`
	Records storage.CheckReport `json:"records"`
	Journal struct {
		Waiting uint64 `json:"waiting"`
	} `json:"journal"`
	FaultCount uint64            `json:"fault_count"`
	Faults     []json.RawMessage `json:"faults"`
}

// syncBuffer is a buffer that several goroutines may use at once.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
