package audit

// World is what a program observed while it ran, apart from the answers of its
// calls. A replay needs it in place of the clock, standard input and files.
type World struct {
	// Clock lists each reading of the clock, in nanoseconds since the start.
	Clock []int64 `json:"clock,omitempty"`
	// Input is what the program read from a standard input that was not known
	// at the start. Reads lists the length of each read.
	Input Blob  `json:"input,omitempty"`
	Reads []int `json:"reads,omitempty"`
	// Files lists the file operations, in order. Those in the scratch directory
	// and in the library of the language are not recorded.
	Files []FileOp `json:"looks,omitempty"`
	// Dropped names what exceeded the limits of the record: clock, input,
	// files, order. Such a run cannot be replayed.
	Dropped []string `json:"lost,omitempty"`
}

// FileOp is a file operation and its outcome.
type FileOp struct {
	Op    string `json:"op"` // open, stat, lstat, readlink, or the name of a change
	Path  string `json:"path"`
	To    string `json:"to,omitempty"`    // second path
	Flag  int    `json:"flag,omitempty"`  // open only
	Errno int    `json:"errno,omitempty"` // 0: success

	Stat   []int64     `json:"stat,omitempty"` // dev, ino, mode, nlink, size, atim, mtim, ctim
	Text   string      `json:"text,omitempty"` // target of readlink
	Names  []DirEntry  `json:"names,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // of the bytes read
	Parts  []FileRange `json:"parts,omitempty"`  // bytes read
}

// DirEntry is an entry of a directory.
type DirEntry struct {
	Name string `json:"name"`
	Ino  uint64 `json:"ino,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
}

// FileRange is a range of a file that was read.
type FileRange struct {
	At   int64 `json:"at,omitempty"`
	Data Blob  `json:"data"`
}
