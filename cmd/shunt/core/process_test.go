package core

import (
	"testing"

	"shunt/engine/expect"
)

// Clients and the admin address leave the descriptors that the store and the journal need.
func TestDescriptorsAreLeftForTheStore(t *testing.T) {
	for all, want := range map[int][2]int{256: {64, 32}, 1024: {640, 32}, 4096: {2912, 64}, 20_000: {14_648, 256}, 65_536: {48_800, 256}} {
		tables := max(16, all/4)
		clients, admins := connectionsWithin(all, tables)
		expect.That(t, clients == want[0] && admins == want[1], "%d: got %d clients and %d of the admin address, want %v", all, clients, admins, want)
		left := all - tables - clients - admins
		expect.That(t, left >= otherDescriptors-reservedAdmins, "%d: %d are left", all, left)
	}
}
