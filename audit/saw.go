package audit

// Saw is what a program saw of the world while it ran, beside the answers of
// its calls: with it a replay needs neither clock, nor standard input, nor
// files.
type Saw struct {
	// Clock lists what its clock showed each time it looked, in nanoseconds
	// since its start.
	Clock []int64 `json:"clock,omitempty"`
	// Input is what it read of a standard input that was not known at its
	// start, Reads how much it got each time.
	Input Blob  `json:"input,omitempty"`
	Reads []int `json:"reads,omitempty"`
	// Looks are its looks at files, in order. The scratch folder and the
	// library of its language are not among them.
	Looks []Look `json:"looks,omitempty"`
	// Lost names what was too much to be kept: clock, input, files, order.
	Lost []string `json:"lost,omitempty"`
}

// Look is one look at files: what was asked for and what came of it.
type Look struct {
	Op    string `json:"op"` // open, stat, lstat, readlink, or the name of a change
	Path  string `json:"path"`
	To    string `json:"to,omitempty"`    // of what takes two paths
	Flag  int    `json:"flag,omitempty"`  // of open
	Errno int    `json:"errno,omitempty"` // 0: it went well

	Stat   []int64 `json:"stat,omitempty"` // dev, ino, mode, nlink, size, atim, mtim, ctim
	Text   string  `json:"text,omitempty"` // of readlink
	Names  []Name  `json:"names,omitempty"`
	SHA256 string  `json:"sha256,omitempty"` // of what was read of the file
	Parts  []Part  `json:"parts,omitempty"`  // what was read of it
}

// Name is an entry of a folder.
type Name struct {
	Name string `json:"name"`
	Ino  uint64 `json:"ino,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
}

// Part is a stretch of a file that was read.
type Part struct {
	At   int64 `json:"at,omitempty"`
	Data Blob  `json:"data"`
}
