package policy

// facts is what the conditions of one decision see.
type facts struct {
	req   Request
	id    string // server.tool
	found []int32
	ends  []int
}

func (f *facts) reset(req Request) {
	f.req, f.id = req, req.Tool.ID()
}

func (f *facts) release() {
	f.req = Request{}
	factsPool.Put(f)
}
