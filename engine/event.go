package engine

import (
	"time"
)

// EventType names one kind of [Event].
type EventType string

// The kinds of progress. Each run ends with exactly one [EventDone].
const (
	EventQueued    EventType = "queued"    // the run waits for a core; Count runs are before it
	EventCompiling EventType = "compiling" // a guest is compiled for the first time on this machine; Text is its name
	EventStarted   EventType = "started"   // the program runs
	EventCalling   EventType = "calling"   // a tool call begins; Text is the tool, Number identifies the call
	EventCall      EventType = "call"      // a tool call has ended; Call is set, and Number as in EventCalling
	EventFuel      EventType = "fuel"      // the program computes; sent a few times a second, for its Fuel
	EventOutput    EventType = "output"    // Text was written to Stream
	EventProgress  EventType = "progress"  // the program or a tool reports progress: Done of Total, Text
	EventWaiting   EventType = "waiting"   // the run waits for people; Text says why
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
	Fuel   int64     `json:"fuel,omitempty"` // used when it was last read; in every event
	Count  int       `json:"count,omitempty"`
	Done   float64   `json:"done,omitempty"`
	Total  float64   `json:"total,omitempty"`
}
