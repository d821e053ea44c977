// Package privacy finds personal data and replaces it with tokens.
//
// A [Detector] reports where personal data is in a text or a JSON document. A
// [Vault] belongs to one run or session: it replaces what its detector finds with
// tokens such as [EMAIL_1], keeps the values, and puts them back where the caller
// decides that they may be seen.
//
// The package is pure: it reads no clock, file or environment and starts no
// goroutine. Its input is hostile: it takes time linear in the size of a text and
// never panics.
//
// It does not stop code that wants to smuggle data out, since code can encode
// data in ways that no detector knows. The policy bounds what such code can reach.
package privacy
