package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
)

// A site is where the servers run: the folders and cores that they share.
type site struct {
	tools    string // folder of the programs that make compare has built
	temp     string // removed at the end
	data     string // of shunt
	links    int
	token    string // of shunt's API
	server   int    // the core of the server
	load     int    // the core of everything else
	progress io.Writer
}

func (s *site) say(format string, args ...any) {
	fmt.Fprintf(s.progress, "compare: "+format+"\n", args...)
}

// place returns a place for a server: two free ports, and a new folder.
func (s *site) place() (*place, error) {
	dir, err := os.MkdirTemp(s.temp, "server-")
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir}
	for _, address := range []*string{&p.address, &p.admin} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after the second, so that they differ
		*address = l.Addr().String()
	}
	return p, nil
}

func (p *place) log() string { return filepath.Join(p.dir, "log") }
