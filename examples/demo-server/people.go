package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type customer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Email   string `json:"email"`
	Phone   string `json:"phone"`
	City    string `json:"city"`
	Segment string `json:"segment"`
	Spent   int    `json:"spent"`
	Card    string `json:"card"`
	Notes   string `json:"notes"`
}

func customers(seed uint64) []customer {
	r := source(seed, "customers")
	domains := []string{"mail.example.com", "post.example.org", "inbox.example.net"}
	var out []customer
	for i := range 500 {
		p := person{pick(r, given), pick(r, family)}
		phone := fmt.Sprintf("+1 512 %03d %04d", 200+r.IntN(700), i*7+1000)
		email := strings.ToLower(fmt.Sprintf("%s.%s%d@%s", p.Given, p.Family, i, pick(r, domains)))
		out = append(out, customer{
			ID: fmt.Sprintf("C-%04d", i+1), Name: p.name(), Email: email, Phone: phone, City: pick(r, cities),
			Segment: pick(r, []string{"new", "regular", "gold"}), Spent: r.IntN(5000),
			Card:  withCheckDigit(fmt.Sprintf("411111%09d", r.IntN(1e9))),
			Notes: fmt.Sprintf("Prefers a call at %s, else write to %s.", phone, email)})
	}
	return out
}

// withCheckDigit appends the Luhn check digit.
func withCheckDigit(digits string) string {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return digits + fmt.Sprint((10-sum%10)%10)
}

func offerCRM(s *mcp.Server, seed uint64) {
	all := customers(seed)
	type listArgs struct {
		Segment string `json:"segment,omitempty" jsonschema:"new, regular or gold"`
		City    string `json:"city,omitempty"`
		Limit   int    `json:"limit,omitempty" jsonschema:"how many customers, at most 500; 30 when absent"`
		Page    int    `json:"page,omitempty"`
	}
	tool(s, "list_customers", "List customers with their contact data.", false, func(in listArgs) (any, error) {
		found := []customer{}
		for _, c := range all {
			if (in.Segment == "" || c.Segment == in.Segment) && (in.City == "" || c.City == in.City) {
				found = append(found, c)
			}
		}
		return page(found, in.Page, in.Limit, 500), nil
	})
	type getArgs struct {
		ID string `json:"id" jsonschema:"the customer, like C-0001"`
	}
	tool(s, "get_customer", "Get one customer.", false, func(in getArgs) (any, error) {
		for _, c := range all {
			if c.ID == in.ID {
				return c, nil
			}
		}
		return nil, fmt.Errorf("no customer %q", in.ID)
	})
}

func offerMail(s *mcp.Server, _ uint64) {
	type sendArgs struct {
		To      string `json:"to" jsonschema:"the address"`
		Subject string `json:"subject"`
		Body    string `json:"body"`
	}
	tool(s, "send", "Send a mail.", true, func(in sendArgs) (any, error) {
		if !strings.Contains(in.To, "@") {
			return nil, fmt.Errorf("invalid address %q", in.To)
		}
		return map[string]any{"sent": true, "id": digest(in.To, in.Subject)[:12]}, nil
	})
}

func offerLogs(s *mcp.Server, seed uint64) {
	type readArgs struct {
		Offset int `json:"offset,omitempty" jsonschema:"the first line, from 0 on"`
		Limit  int `json:"limit,omitempty" jsonschema:"how many lines, at most 50000; 1000 when absent"`
	}
	const total = 500_000
	tool(s, "read", "Read lines of the service log as text, oldest first. It has 500000 lines, about 50 MB.", false, func(in readArgs) (any, error) {
		limit := in.Limit
		if limit <= 0 {
			limit = 1000
		}
		from := min(max(in.Offset, 0), total)
		to := min(from+min(limit, 50_000), total)
		var b strings.Builder
		for i := from; i < to; i++ {
			b.WriteString(logLine(seed, i))
			b.WriteByte('\n')
		}
		return b.String(), nil
	})
	type rowArgs struct {
		Table  string `json:"table" jsonschema:"orders or customers"`
		Offset int    `json:"offset,omitempty"`
		Limit  int    `json:"limit,omitempty" jsonschema:"how many rows, at most 10000"`
	}
	tool(s, "rows", "Rows of a table: orders (10000) or customers (500).", false, func(in rowArgs) (any, error) {
		switch in.Table {
		case "orders":
			rows := []map[string]any{}
			from := min(max(in.Offset, 0), 10_000)
			for i := from; i < min(from+max(in.Limit, 1), 10_000); i++ {
				r := source(seed+uint64(i), "orders")
				rows = append(rows, map[string]any{"order": i + 1, "customer": fmt.Sprintf("C-%04d", 1+r.IntN(500)), "total": 5 + r.IntN(400), "item": pick(r, objects)})
			}
			return rows, nil
		case "customers":
			rows := []map[string]any{}
			for _, c := range customers(seed) {
				rows = append(rows, map[string]any{"id": c.ID, "segment": c.Segment, "city": c.City})
			}
			return rows, nil
		}
		return nil, fmt.Errorf("no table %q", in.Table)
	})
}

// logLine generates line i without the lines before it.
func logLine(seed uint64, i int) string {
	x := (uint64(i)+seed)*0x9E3779B97F4A7C15 ^ uint64(i)>>7
	level, text := "INFO", "request served"
	switch {
	case x%97 == 0:
		level, text = "ERROR", []string{"connection reset by peer", "timeout waiting for lock", "payment declined upstream", "template not found", "disk quota exceeded"}[x/97%5]
	case x%13 == 0:
		level, text = "WARN", "slow query"
	}
	return fmt.Sprintf("%s %s service=%s request=%016x ms=%d %s", epoch.Add(time.Duration(i-500_000)*time.Second).Format("2006-01-02T15:04:05Z"), level, objects[(x>>8)%uint64(len(objects))], x, (x>>16)%900, text)
}
