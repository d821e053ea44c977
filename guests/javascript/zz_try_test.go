package javascript_test
import ("testing";"os";"time")
func TestTry(t *testing.T){ b,_:=os.ReadFile("/tmp/wx/build-qjs/try.js"); s:=time.Now(); h:=run(t,string(b),func(h *host){h.handle=func(n string,a []byte)answer{return answer{kind:0,data:append([]byte(`{"name":"`+n+`","args":`),append(a,'}')...),after:20*time.Millisecond}}; h.input["servers"]=[]string{"github","jira"}}); t.Logf("%v outcome %d\n%s\n--out\n%s--err\n%s",time.Since(s),h.outcome,h.document,h.stdout.String(),h.stderr.String())}
