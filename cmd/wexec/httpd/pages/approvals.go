package pages

import (
	"errors"
	"net/url"
	"slices"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// question is an approval as a page shows it.
type question struct {
	service.Approval
	Fields []node
	Before []service.Approval // earlier answers about the tool
	Review *review.Assessment
}

// maxReviewed bounds the runs of a page whose reviews it shows.
const maxReviewed = 10

// questionOf is a question as a page shows it.
func questionOf(a service.Approval) question {
	q := question{Approval: a}
	if len(a.Args) > 0 {
		args := tree(a.Args)
		if q.Fields = args.Children; len(q.Fields) == 0 {
			q.Fields = []node{*args}
		}
	}
	return q
}

// approvals shows the questions that wait, and the last answers.
func (p *Pages) approvals(v *view) error {
	ctx := v.r.Context()
	data := struct {
		Waiting  []question
		More     bool
		Answered []service.Approval
		Late     *service.Approval // an answer that came before the person's
	}{}
	waiting, next, err := p.Service.Approvals(ctx, v.who, store.ApprovalFilter{State: store.AnswerWaiting, Limit: longList})
	if err != nil {
		return err
	}
	data.More = next != ""
	for _, state := range []store.Answer{store.AnswerApproved, store.AnswerDenied, store.AnswerExpired} {
		some, _, err := p.Service.Approvals(ctx, v.who, store.ApprovalFilter{State: state, Limit: longList, Newest: true})
		if err != nil {
			return err
		}
		data.Answered = append(data.Answered, some...)
	}
	slices.SortFunc(data.Answered, func(a, b service.Approval) int { return b.Since.Compare(a.Since) })
	reviews := map[string]*review.Assessment{}
	for _, a := range waiting {
		q := questionOf(a)
		if _, known := reviews[a.Run]; !known && len(reviews) < maxReviewed {
			if reviews[a.Run], err = p.Service.ReviewOf(ctx, v.who, a.Run); err != nil {
				return err
			}
		}
		q.Review = reviews[a.Run]
		for _, b := range data.Answered {
			if b.Tool == a.Tool && len(q.Before) < 3 {
				q.Before = append(q.Before, b)
			}
		}
		data.Waiting = append(data.Waiting, q)
	}
	if late := v.r.URL.Query().Get("late"); late != "" {
		for i, a := range data.Answered {
			if a.ID == late {
				data.Late = &data.Answered[i]
			}
		}
	}
	data.Answered = data.Answered[:min(len(data.Answered), longList)]
	return p.show(v, "approvals", page{Title: "Approvals", At: "/approvals", Live: "/live", Data: data})
}

// maxReason bounds the reason of a denial.
const maxReason = 2000

// decide answers a question.
func (p *Pages) decide(v *view) error {
	if err := v.r.ParseForm(); err != nil {
		return errForm
	}
	f := v.r.PostForm
	a := service.Answering{Reason: f.Get("reason"), Via: "page"}
	switch f.Get("decision") {
	case "approve":
		a.Approve = true
	case "always":
		a.Approve, a.Always = true, true
	case "deny":
	default:
		return errForm
	}
	if len(a.Reason) > maxReason {
		return fault.New(fault.UsageFlag, "the reason has more than %d bytes", maxReason)
	}
	answered, err := p.Service.Decide(v.r.Context(), v.who, v.r.PathValue("id"), a)
	if errors.Is(err, fault.UsageConflict) { // answered elsewhere: the page shows it
		return redirect(v, "/approvals?late="+url.QueryEscape(v.r.PathValue("id")))
	}
	if err != nil {
		return err
	}
	p.About(v.r, answered.Run)
	return redirect(v, "/approvals")
}

// reveal shows a question with values instead of tokens. The answer to this request is
// the only page that has them.
func (p *Pages) reveal(v *view) error {
	a, err := p.Service.Reveal(v.r.Context(), v.who, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	p.About(v.r, a.Run)
	a.Covers = false
	return p.show(v, "revealed", page{Title: "Revealed", At: "/approvals", Data: questionOf(a)})
}
