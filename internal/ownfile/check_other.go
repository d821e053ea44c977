//go:build !unix

package ownfile

import (
	"io/fs"
	"os"
)

func checkOwner(string, fs.FileInfo) error { return nil }

func checkDir(path string, info fs.FileInfo, _ bool) error {
	if !info.IsDir() {
		return &Error{Path: path, Why: "it is not a folder", Do: "remove it"}
	}
	return nil
}

func checkFile(string, fs.FileInfo) error { return nil }

func checkPrivate(string, fs.FileInfo) error { return nil }

func openNoFollow(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &Error{Path: path, Why: "it is not a regular file", Do: "remove it"}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
