package store

import (
	"context"
	"database/sql/driver"
)

// maxStatements bounds the statements that a connection to SQLite keeps.
const maxStatements = 128

// preparing makes connections to SQLite that parse a statement once, and not each
// time it is executed.
type preparing struct{ driver.Connector }

// Connect implements driver.Connector.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &prepared{c.(sqliteConn), map[string]sqliteStatement{}}, nil
}

// sqliteConn and sqliteStatement are what the driver of SQLite implements.
type (
	sqliteConn interface {
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.Pinger
		driver.SessionResetter
		driver.Validator
	}
	sqliteStatement interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
)

// prepared is a connection with its statements that are not in use.
type prepared struct {
	sqliteConn
	idle map[string]sqliteStatement
}

// take returns a statement, which nobody else uses until it is given back.
func (c *prepared) take(ctx context.Context, query string) (sqliteStatement, error) {
	if s, ok := c.idle[query]; ok {
		delete(c.idle, query)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(sqliteStatement), nil
}

// give keeps a statement for its next use.
func (c *prepared) give(query string, s sqliteStatement) error {
	if _, taken := c.idle[query]; taken || len(c.idle) >= maxStatements {
		return s.Close()
	}
	c.idle[query] = s
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *prepared) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	res, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return res, c.give(query, s)
}

// QueryContext implements driver.QueryerContext.
func (c *prepared) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return &preparedRows{rows, c, query, s}, nil
}

// Close implements driver.Conn.
func (c *prepared) Close() error {
	for _, s := range c.idle {
		_ = s.Close()
	}
	return c.sqliteConn.Close()
}

// preparedRows are the rows of a statement, which is given back with them.
type preparedRows struct {
	driver.Rows
	conn      *prepared
	query     string
	statement sqliteStatement
}

// Close implements driver.Rows.
func (r *preparedRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		_ = r.statement.Close()
		return err
	}
	return r.conn.give(r.query, r.statement)
}
