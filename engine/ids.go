package engine

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// crockford is the alphabet of run ids: no letter can be taken for a digit.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newID is a ULID: 48 bits of milliseconds and 80 random ones, so that ids of
// later runs sort after those of earlier ones.
func newID(at time.Time) string {
	var b [16]byte
	rand.Read(b[:])
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint16(b[:2], uint16(ms>>32))
	binary.BigEndian.PutUint32(b[2:6], uint32(ms))
	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	for i := 25; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// seedBytes is how a seed stands in a record.
func seedBytes(seed uint64) []byte { return binary.BigEndian.AppendUint64(nil, seed) }
