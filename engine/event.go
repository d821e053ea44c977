package engine

import "time"

// EventType names one kind of [Event].
type EventType string

// The kinds of progress. Each run ends with exactly one [EventDone].
const (
	EventQueued    EventType = "queued"    // waiting for a place; Count is how many are before it
	EventCompiling EventType = "compiling" // preparing a guest for the first time on this machine; Text names it
	EventStarted   EventType = "started"   // the program runs
	EventCalling   EventType = "calling"   // a call of a tool begins; Text is the tool, Number tells it from others
	EventCall      EventType = "call"      // a call of a tool has ended; Call is set, and Number as it was in its calling
	EventFuel      EventType = "fuel"      // the program computes; comes a few times a second, for its Fuel
	EventOutput    EventType = "output"    // Text was written to Stream
	EventProgress  EventType = "progress"  // the program or a tool says how far it is: Done of Total, Text
	EventWaiting   EventType = "waiting"   // people are waited for; Text says why
	EventDone      EventType = "done"      // the run has ended; Text is its status
)

// An Event is one step of a run, or of a warm-up. Which fields are set depends
// on its type.
type Event struct {
	Type   EventType `json:"type"`
	Run    string    `json:"run,omitempty"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text,omitempty"`
	Stream string    `json:"stream,omitempty"` // stdout or stderr
	Call   *Call     `json:"call,omitempty"`
	Number uint64    `json:"number,omitempty"`
	Fuel   int64     `json:"fuel,omitempty"` // that the program had used when this was last looked at, in every event
	Count  int       `json:"count,omitempty"`
	Done   float64   `json:"done,omitempty"`
	Total  float64   `json:"total,omitempty"`
}
