//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// touch maps a file privately, writes to each page, and unmaps it.
func touch(f *os.File, pages, page int) error {
	b, err := unix.Mmap(int(f.Fd()), 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := range pages {
		b[i*page] = 1
	}
	return unix.Munmap(b)
}
