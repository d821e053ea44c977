package sandbox

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

func TestTheQueueIsFairBetweenActors(t *testing.T) {
	a := NewAdmission(1, 100, &Ledger{Max: 1})
	none := func(int) {}
	slot, err := a.Enter(context.Background(), "x", none)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 10)
	for k, actor := range []string{"greedy", "greedy", "greedy", "greedy", "modest"} {
		go func() {
			if slot, err := a.Enter(context.Background(), actor, none); err == nil {
				order <- actor
				slot.Leave()
			}
		}()
		for a.Waiting() != k+1 {
			runtime.Gosched()
		}
	}
	slot.Leave()
	got := []string{<-order, <-order}
	if strings.Join(got, " ") != "greedy modest" {
		t.Errorf("the first two were %v", got)
	}
}
