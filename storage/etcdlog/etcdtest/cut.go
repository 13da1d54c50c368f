package etcdtest

import (
	"fmt"
	"os"
	"strings"
)

// A cut is that of a cable: what is sent waits, in both directions, and nobody gets an error. When the cable
// is mended, everything arrives, as TCP would send it again.

// CutOff has everything through p wait, or lets it go.
func (p *Proxy) CutOff(cut bool) { p.set(func() { p.mu.cut = cut }) }

// CutOffFrom has everything wait that a process sends and is sent by way of p, on connections that it has
// and those that it will make; 0: nobody's, which lets it go. It is for one process at a time.
func (p *Proxy) CutOffFrom(pid int) {
	p.set(func() { p.mu.cutPID, p.mu.cutFrom = pid, make(map[string]bool) })
}

// awaitWhole waits until nothing that concerns the connection of a client is cut.
func (p *Proxy) awaitWhole(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.mu.closed && (p.mu.cut || p.isCutLocked(client)) {
		p.changed.Wait()
	}
}

// isCutLocked reports whether the process that is cut off has the other end of a client's connection.
func (p *Proxy) isCutLocked(client string) bool {
	if p.mu.cutPID == 0 {
		return false
	}
	cut, known := p.mu.cutFrom[client]
	if !known {
		cut = hasSocket(p.mu.cutPID, client, p.Endpoint)
		p.mu.cutFrom[client] = cut
	}
	return cut
}

// hasSocket reports whether a process has the socket of a TCP connection between two addresses of IPv4.
func hasSocket(pid int, local, remote string) bool {
	sockets, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return false
	}
	from, to := procAddress(local), procAddress(remote)
	for line := range strings.Lines(string(sockets)) {
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[1] == from && fields[2] == to {
			return hasFile(pid, "socket:["+fields[9]+"]")
		}
	}
	return false
}

// procAddress returns an address of IPv4 as /proc/net/tcp shows it.
func procAddress(address string) string {
	var a, b, c, d, port int
	_, _ = fmt.Sscanf(address, "%d.%d.%d.%d:%d", &a, &b, &c, &d, &port)
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", d, c, b, a, port) // the bytes of this machine's order
}

func hasFile(pid int, name string) bool {
	folder := fmt.Sprintf("/proc/%d/fd/", pid)
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		if target, err := os.Readlink(folder + f.Name()); err == nil && target == name {
			return true
		}
	}
	return false
}
