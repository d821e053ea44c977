package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// refusedFor returns why a run is refused for a quota, and fails the test if it is not.
func refusedFor(t testing.TB, err error) *OverQuota {
	t.Helper()
	var over *OverQuota
	if !errors.As(err, &over) || fault.CodeOf(err) != fault.LimitQuota || fault.HintOf(err) == "" {
		t.Fatalf("the run is not refused for a quota: %v", err)
	}
	return over
}

// Several stores of one database are the processes of several machines.
func TestNoMoreRunsAreInFlightThanQuotasAllow(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := address(t)
			var stores []*Store
			for range 3 {
				stores = append(stores, open(t, address, Options{}))
			}
			const most, ofOne, clients, each = 5, 3, 16, 8
			var all, one, accepted, refused atomic.Int64
			var clientsDone sync.WaitGroup
			for c := range clients {
				clientsDone.Go(func() {
					s, token := stores[c%len(stores)], []string{"one", "two"}[c%2]
					for i := range each {
						owner := "me"
						if i%3 == 0 {
							owner = "" // another process executes it
						}
						a, err := s.Accept(t.Context(), Run{Tenant: "acme", ID: fmt.Sprint(c, "-", i), Token: token}, owner, Idempotency{},
							Account{Tenant: "acme", Quotas: Quotas{Running: most}}, Account{"acme", token, Quotas{Running: ofOne}})
						if err != nil {
							refusedFor(t, err)
							refused.Add(1)
							continue
						}
						accepted.Add(1)
						if n := all.Add(1); n > most {
							t.Errorf("%d runs are in flight", n)
						}
						mine := token == "one" && owner != ""
						if mine {
							if n := one.Add(1); n > ofOne {
								t.Errorf("the token has %d runs in flight", n)
							}
						}
						l := a.Lease
						for ok := owner != ""; !ok; { // maybe the run of another client, which ends this one
							if l, ok, err = s.Claim(t.Context(), KindRun, "me"); err != nil {
								t.Error(err)
								return
							}
						}
						if err := s.SetState(t.Context(), l, StateRunning); err != nil {
							t.Error(err)
						}
						if mine {
							one.Add(-1)
						}
						all.Add(-1)
						if err := s.End(t.Context(), l, Outcome{Status: "ok"}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			clientsDone.Wait()
			if accepted.Load() == 0 || accepted.Load()+refused.Load() != clients*each {
				t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
			}
		})
	}
}

// Runs that nobody ends are accepted up to the quota, exactly.
func TestAQuotaIsUsedUpExactly(t *testing.T) {
	for name, quotas := range map[string]Quotas{"running": {Running: 7}, "queued": {Queued: 7}, "runs_per_day": {RunsPerDay: 7}} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, s *Store, c *clock) {
				for _, token := range []string{"", "tok"} {
					var accepted atomic.Int64
					var clients sync.WaitGroup
					for i := range 40 {
						clients.Go(func() {
							_, err := s.Accept(t.Context(), Run{Tenant: "t" + token, ID: fmt.Sprint(i), Token: "tok"}, "", Idempotency{Key: fmt.Sprint(i)}, Account{"t" + token, token, quotas})
							if err == nil {
								accepted.Add(1)
							} else {
								refusedFor(t, err)
							}
						})
					}
					clients.Wait()
					if accepted.Load() != 7 {
						t.Errorf("%d runs were accepted", accepted.Load())
					}
					// a request that was accepted is answered again, and other tenants are not bounded
					runs, _, err := s.Runs(t.Context(), "t"+token, Filter{})
					check(t, err)
					again := must(s.Accept(t.Context(), Run{Tenant: "t" + token, ID: "new", Token: "tok"}, "", Idempotency{Key: runs[0].ID, Keep: time.Hour}, Account{"t" + token, token, quotas}))(t)
					if !again.Again || again.ID != runs[0].ID {
						t.Errorf("%+v", again)
					}
					must(s.Accept(t.Context(), Run{Tenant: "other" + token, ID: "1", Token: "tok"}, "", Idempotency{}, Account{"other" + token, token, quotas}))(t)
				}
			})
		})
	}
}

func TestADayIsUsedUpUntilMidnight(t *testing.T) {
	for name, quotas := range map[string]Quotas{"fuel_per_day": {FuelPerDay: 1000}, "tokens_per_day": {TokensPerDay: 50}, "money_per_day": {MoneyPerDay: 1.5}} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, s *Store, c *clock) {
				tenant, token := Account{Tenant: "a", Quotas: quotas}, Account{"a", "tok", quotas}
				n := 0
				run := func(accounts ...Account) error {
					n++
					a, err := s.Accept(t.Context(), Run{Tenant: "a", ID: fmt.Sprint(n), Token: "tok"}, "me", Idempotency{}, accounts...)
					if err != nil {
						return err
					}
					c.pass(time.Second)
					return s.End(t.Context(), a.Lease, Outcome{Accounts: accounts, Uses: []Use{{Kind: "run", Count: 1, Fuel: 400, Tokens: 20, Money: 600_000}, {Kind: "tool", Name: "x", Fuel: 9999}}})
				}
				check(t, run(), run(tenant)) // what ran before there was a quota counts
				if _, err := s.Within(t.Context(), tenant); err != nil {
					t.Errorf("before the quota is used up: %v", err)
				}
				check(t, run(tenant))
				over := refusedFor(t, run(tenant))
				if over.Retry < 11*time.Hour || over.Retry > 12*time.Hour {
					t.Errorf("at noon a client waits for %s", over.Retry)
				}
				_, err := s.Within(t.Context(), tenant)
				refusedFor(t, err)
				refusedFor(t, run(tenant, token))
				refusedFor(t, run(token))
				if left := must(s.Within(t.Context(), Account{Tenant: "b", Quotas: quotas}))(t); quotas.FuelPerDay > 0 && left != 1000 {
					t.Errorf("another tenant has %d left", left)
				}
				c.pass(over.Retry)
				must(s.Within(t.Context(), tenant, token))(t)
				check(t, run(tenant, token))
			})
		})
	}
}

func TestATokenKeepsItsQuotas(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		want := Quotas{Running: 1, Queued: 2, RunsPerDay: 3, FuelPerDay: 1 << 60, TokensPerDay: 5, MoneyPerDay: 6.75}
		token := Token{Tenant: "a", ID: NewTokenID(), Name: "n", Type: TypeAgent, Scopes: []Scope{ScopeRun}, Quotas: want, Model: "m"}
		secret := must(s.CreateToken(t.Context(), token))(t)
		if got := must(s.Token(t.Context(), secret))(t); got.Quotas != want || got.Model != "m" {
			t.Errorf("%+v", got)
		}
		var set Quotas
		for i, text := range []string{"1", "2", "3", "1152921504606846976", "5", "6.75"} {
			check(t, set.Set(QuotaNames()[i], text))
		}
		if set != want {
			t.Errorf("%+v", set)
		}
		for _, wrong := range [][2]string{{"running", "0"}, {"running", "-1"}, {"running", "1.5"}, {"running", ""}, {"running", "NaN"}, {"fuel_per_day", "1e30"}, {"walking", "1"}, {"", "1"}} {
			wantCode(t, new(Quotas).Set(wrong[0], wrong[1]), fault.UsageFlag)
		}
		token.ID, token.Quotas.FuelPerDay = NewTokenID(), -1
		_, err := s.CreateToken(t.Context(), token)
		wantCode(t, err, fault.UsageFlag)
	})
}
