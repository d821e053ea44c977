// Tenants is an HTTP server that runs programs of several tenants in one engine.
// Each tenant has a table with its policy, tools and audit log.
//
//	curl -H 'Tenant: acme' --data 'return (await tools.orders.find({id: 7})).total' http://127.0.0.1:8080/run
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// order is the result of the tool.
type order struct {
	ID    int    `json:"id"`
	Owner string `json:"owner"`
	Total int    `json:"total"`
}

// query is the input of the tool. The input schema comes from this type.
type query struct {
	ID int `json:"id" jsonschema:"the number of the order"`
}

const rules = `
version: 1
tools:
  allow:
    - tool: orders.find
      when: args.id < 1000
limits: {time: 5s, memory: 64MiB, tool_calls: 10}
`

// tenantTable returns the table of a tenant.
func tenantTable(tenant string) (*hostfns.Table, error) {
	p, err := policy.Parse(tenant+".yaml", []byte(rules))
	if err != nil {
		return nil, err
	}
	find := hostfns.Func("orders.find", func(_ context.Context, q query) (order, error) {
		return order{ID: q.ID, Owner: tenant, Total: q.ID * 10}, nil
	})
	return hostfns.NewTable(p, new(audit.Memory), find)
}

// handler serves POST /run.
func handler(eng *engine.Engine, tables map[string]*hostfns.Table) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) {
		table, ok := tables[r.Header.Get("Tenant")]
		if !ok {
			http.Error(w, "unknown tenant", http.StatusForbidden)
			return
		}
		code, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "the program is too large", http.StatusRequestEntityTooLarge)
			return
		}
		res, err := eng.Run(r.Context(), engine.Request{
			Language: "javascript", Code: string(code), Table: table, Actor: engine.Actor{ID: r.Header.Get("Tenant"), Type: "service"},
		})
		status := http.StatusOK
		switch {
		case errors.Is(err, fault.LimitBusy):
			status = http.StatusTooManyRequests
		case err != nil:
			status = http.StatusUnprocessableEntity
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(res); err != nil {
			log.Print(err)
		}
	})
	return mux
}

func serve(ctx context.Context) error {
	eng, err := engine.New(ctx, engine.Config{})
	if err != nil {
		return err
	}
	defer eng.Close()
	tables := map[string]*hostfns.Table{}
	for _, tenant := range []string{"acme", "globex"} {
		if tables[tenant], err = tenantTable(tenant); err != nil {
			return fmt.Errorf("tenant %s: %w", tenant, err)
		}
		defer tables[tenant].Close()
	}
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: handler(eng, tables), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx); err != nil {
		log.Fatal(err)
	}
}
