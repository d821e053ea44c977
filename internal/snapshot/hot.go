package snapshot

// span is a range of bytes, from one page boundary to another.
type span struct{ from, to uint64 }

// HotBytes is how much of the image each new instance gets prefaulted, which
// is what the first instances all wrote to.
func (im *Image) HotBytes() uint64 {
	n := uint64(0)
	for _, s := range im.hot.spans() {
		n += s.to - s.from
	}
	return n
}
