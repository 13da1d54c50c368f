//go:build !linux

package memory

// kernelUsage: other systems have no file that says what is resident.
type kernelUsage struct{}

func openKernelUsage() kernelUsage { return kernelUsage{} }

func (kernelUsage) close() {}

func (kernelUsage) read() (anonymous, shared uint64, ok bool) { return 0, 0, false }
