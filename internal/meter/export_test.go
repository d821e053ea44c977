package meter

// Inspect reads a module as Rewrite does and describes it, without metering
// it. It fails where Rewrite would.
func Inspect(original []byte, o Options) (Info, error) {
	m, err := analyse(original, o)
	if err != nil {
		return Info{}, err
	}
	return m.info, nil
}
