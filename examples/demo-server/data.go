package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// epoch is the last day of the generated data.
var epoch = time.Date(2026, 6, 30, 18, 0, 0, 0, time.UTC)

var (
	given   = strings.Fields("Ada Bruno Chiara Dmitri Elif Farah Goran Hana Ivo Jana Kofi Lena Mateo Nadia Omar Petra Quentin Rosa Sven Tara Umar Vera Wanda Ximena Yusuf Zora")
	family  = strings.Fields("Abbott Becker Castillo Dubois Eriksen Fischer Garcia Haddad Ibsen Jansen Kowalski Lindgren Moreau Novak Okafor Petrov Quinn Rossi Schmidt Tanaka Ueda Varga Weber Xu Yilmaz Zimmer")
	verbs   = strings.Fields("Fix Add Remove Rename Speed-up Document Simplify Guard Cache Retry")
	objects = strings.Fields("parser scheduler login cache exporter billing search importer webhook dashboard")
	labels  = strings.Fields("bug feature docs performance security support")
	cities  = strings.Fields("Austin Boston Chicago Denver Eugene Fresno Galveston Houston Irvine Juneau")
)

// source returns a random source per kind of data.
func source(seed uint64, kind string) *rand.Rand {
	sum := sha256.Sum256([]byte(kind))
	var k uint64
	for _, b := range sum[:8] {
		k = k<<8 | uint64(b)
	}
	return rand.New(rand.NewPCG(seed, k))
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func digest(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:20])
}

// person is a fictional person.
type person struct{ Given, Family string }

func (p person) name() string { return p.Given + " " + p.Family }

func (p person) login() string {
	return strings.ToLower(p.Given[:1] + p.Family)
}

func (p person) email(domain string) string {
	return strings.ToLower(p.Given+"."+p.Family) + "@" + domain
}

// team has the twelve people who commit, file issues and chat.
func team(seed uint64) []person {
	r := source(seed, "team")
	var out []person
	for i := range 12 {
		out = append(out, person{given[(i*2+r.IntN(2))%len(given)], family[(i*2+r.IntN(2))%len(family)]})
	}
	return out
}
