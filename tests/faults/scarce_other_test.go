//go:build !linux

package faults

func scarceHost(string) {}
