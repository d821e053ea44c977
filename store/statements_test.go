package store

import (
	"path/filepath"
	"strconv"
	"testing"
)

// A statement can be executed again while its rows are read, and a connection keeps a
// bounded number of statements.
func TestStatementsAreKept(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{})
	const query = `SELECT value FROM (SELECT 1 AS value UNION ALL SELECT 2 UNION ALL SELECT 3) WHERE value >= $1 ORDER BY value`
	check(t, s.view(t.Context(), func(tx *Tx) error {
		for range 2 {
			var pairs []int
			for scan, err := range tx.rows(query, 1) {
				var outer, inner int
				check(t, err, scan(&outer))
				must(tx.row([]any{&inner}, query, outer))(t)
				pairs = append(pairs, 10*outer+inner)
			}
			if len(pairs) != 3 || pairs[0] != 11 || pairs[2] != 33 {
				t.Errorf("%v", pairs)
			}
		}
		for i := range 2 * maxStatements {
			var n int
			must(tx.row([]any{&n}, "SELECT "+strconv.Itoa(i)))(t)
			if n != i {
				t.Errorf("%d, want %d", n, i)
			}
		}
		return nil
	}))
	conn := must(s.read.Conn(t.Context()))(t)
	defer conn.Close()
	check(t, conn.Raw(func(c any) error {
		if kept := len(c.(*prepared).idle); kept == 0 || kept > maxStatements {
			t.Errorf("%d statements are kept", kept)
		}
		return nil
	}))
}
