package policyfile

import (
	"testing"
	"time"

	"github.com/wexec/wexec/policy"
)

func TestEachProfileIsAPolicy(t *testing.T) {
	for _, name := range Profiles() {
		profile, err := ProfileOf(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse("policy.yaml", []byte(profile.Starter(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if p.Reviews() != (name != "open") {
			t.Errorf("%s: programs are reviewed: %v", name, p.Reviews())
		}
	}
	if _, err := ProfileOf("closed"); err == nil {
		t.Error("a profile that does not exist is found")
	}
}

func TestCarsHasTheLimitsOfItsLevels(t *testing.T) {
	profile, err := ProfileOf("cars")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", []byte(profile.Starter(nil)))
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[string]policy.Risk{
		"low":      {Effect: policy.Allow, Limits: policy.Limits{Memory: 512 << 20, CPU: 50, Time: 5 * time.Minute}},
		"medium":   {Effect: policy.Allow, Limits: policy.Limits{Memory: 256 << 20, CPU: 25, Time: 2 * time.Minute}, Reach: policy.ReachServers},
		"high":     {Effect: policy.Ask, Limits: policy.Limits{Memory: 128 << 20, CPU: 10, Time: time.Minute}, Reach: policy.ReachNone},
		"critical": {Effect: policy.Ask, Limits: policy.Limits{Memory: 128 << 20, CPU: 10, Time: time.Minute}, Reach: policy.ReachNone},
	} {
		got := p.DecideRisk(level)
		if got.Effect != want.Effect || got.Limits != want.Limits || got.Reach != want.Reach {
			t.Errorf("%s: %+v", level, got)
		}
	}
	if p.Approvals().Timeout != 30*time.Second || p.ReviewProfile() != "cars" || p.DecideUnseen().Effect != policy.Ask {
		t.Error("the approvals, the profile or the tools that are not foreseen differ")
	}
}
