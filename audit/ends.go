package audit

import "strconv"

// A run that calls nothing leaves two records as well, of its start and of its
// end, and a command that runs one program has nobody else to make encoding/json
// ready for.

// appendStart appends what encoding/json would write.
func appendStart(dst []byte, s *Start) ([]byte, error) {
	m := members(append(dst, '{'))
	m.text("version", s.Version)
	m.text("language", s.Language)
	m.text("file", s.File)
	m.text("plugin", s.Plugin)
	m.text("function", s.Function)
	m.text("code_sha256", s.CodeSHA256)
	m.blob("code", s.Code)
	m.text("args_sha256", s.ArgsSHA256)
	m.blob("args", s.Args)
	m.texts("argv", s.Argv)
	m.text("input_sha256", s.InputSHA256)
	m.blob("input", s.Input)
	m.texts("env", s.Env)
	m.text("intent", s.Intent)
	m.text("trigger", s.Trigger)
	if s.Actor != (Actor{}) {
		m.open("actor")
		m.text("id", s.Actor.ID)
		m.text("type", s.Actor.Type)
		m.close()
	}
	m.text("session", s.Session)
	if s.Deterministic {
		m.bool("deterministic", true)
	}
	m.blob("seed", s.Seed)
	if !s.Clock.IsZero() {
		text, err := s.Clock.AppendText(nil)
		if err != nil {
			return nil, err
		}
		m.name("clock", string(text))
	}
	if l := s.Limits; l != (Limits{}) {
		m.open("limits")
		m.number("fuel", l.Fuel)
		m.number("memory", l.Memory)
		m.number("time", l.TimeMS)
		m.number("output", l.Output)
		m.number("tool_calls", int64(l.ToolCalls))
		m.number("parallel", int64(l.Parallel))
		m.number("host_bytes", l.HostBytes)
		m.number("recursion", int64(l.Recursion))
		m.close()
	}
	m.texts("servers", s.Servers)
	m.texts("offers", s.Offers)
	m.text("guest_sha256", s.GuestSHA256)
	m.text("policy_sha256", s.PolicySHA256)
	m.text("catalogue_sha256", s.CatalogueSHA256)
	if s.Keep != (Keep{}) {
		m.open("keep")
		m.text("code", s.Keep.Code)
		m.text("inputs", s.Keep.Inputs)
		m.text("outputs", s.Keep.Outputs)
		m.close()
	}
	return append(m, '}'), nil
}

// appendEnd appends what encoding/json would write.
func appendEnd(dst []byte, e *End) (_ []byte, err error) {
	m := members(append(dst, '{'))
	m.name("status", e.Status)
	m.text("code", e.Code)
	m.text("message", e.Message)
	m.number("exit", int64(e.Exit))
	m.text("cache", e.Cache)
	m.text("value_sha256", e.ValueSHA256)
	m.blob("value", e.Value)
	m.text("stdout_sha256", e.StdoutSHA256)
	m.blob("stdout", e.Stdout)
	m.text("stderr_sha256", e.StderrSHA256)
	m.blob("stderr", e.Stderr)
	if u := e.Usage; u != (Usage{}) {
		m.open("usage")
		m.number("fuel", u.Fuel)
		m.number("memory_peak", u.MemoryPeak)
		m.number("wall_ms", u.WallMS)
		m.number("guest_ms", u.GuestMS)
		m.number("tool_calls", int64(u.ToolCalls))
		m.number("tool_bytes", u.ToolBytes)
		m.number("host_bytes", u.HostBytes)
		m.number("output", u.Output)
		m.close()
	}
	if len(e.Order) > 0 {
		m.key("order")
		for i, n := range e.Order {
			m = strconv.AppendUint(append(m, "[,"[min(i, 1)]), n, 10)
		}
		m = append(m, ']')
	}
	m.texts("tools", e.Tools)
	if len(e.Found) > 0 {
		err = m.value("found", e.Found)
	}
	if err == nil && e.World != nil {
		err = m.value("saw", e.World)
	}
	return append(m, '}'), err
}

func (m *members) open(key string) {
	m.key(key)
	*m = append(*m, '{')
}

func (m *members) close() { *m = append(*m, '}') }

func (m *members) texts(key string, all []string) {
	if len(all) == 0 {
		return
	}
	m.key(key)
	for i, s := range all {
		*m = appendText(append(*m, "[,"[min(i, 1)]), s)
	}
	*m = append(*m, ']')
}
