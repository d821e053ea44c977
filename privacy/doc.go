// Package privacy finds personal data and puts tokens in its place.
//
// A [Detector] says where personal data stands in a text or a JSON document.
// A [Vault] belongs to one run: it replaces what a detector finds by tokens such
// as [EMAIL_1], keeps what they stand for, and puts the values back where the
// caller says that they may be seen.
//
// The package is pure: it reads no clock, file or environment and starts
// nothing. Everything it is given counts as hostile: it takes time linear in
// the size of a text and never panics.
//
// What it cannot do: code that means to smuggle data out can encode them in a
// way that no detector knows. Such code is bounded by the policy, which says
// what it may reach, and not by detection.
package privacy
