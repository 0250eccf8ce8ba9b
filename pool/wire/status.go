package wire

import "time"

// A Status is the daemon's status as JSON. It is the answer to the control
// "status" and the output of "bolt pool status --format json".
type Status struct {
	PID         int          `json:"pid"`
	Version     string       `json:"version"`
	Protocol    int          `json:"protocol"`
	Socket      string       `json:"socket"`
	Log         string       `json:"log"`
	Started     time.Time    `json:"started"`
	Draining    bool         `json:"draining"`
	Clients     int          `json:"clients"`   // except the client that asks
	InFlight    int          `json:"in_flight"` // requests in progress
	Dials       uint64       `json:"dials"`     // dials that opened a connection
	DialsSaved  uint64       `json:"dials_saved"`
	DialsFailed uint64       `json:"dials_failed"`
	Runs        uint64       `json:"runs"`
	Contents    int          `json:"contents"` // kept contents; the next field is their size
	ContentSize int64        `json:"content_bytes"`
	Memory      uint64       `json:"memory_bytes"` // from the operating system
	Goroutines  int          `json:"goroutines"`
	Files       int          `json:"open_files"`
	Limits      Limits       `json:"limits"`
	Connections []Connection `json:"connections"`
}

// Limits are the daemon's settings.
type Limits struct {
	MaxConnections int           `json:"max_connections"`
	IdleTimeout    time.Duration `json:"idle_timeout_ns"`
	MaxAge         time.Duration `json:"max_age_ns"`
}

// These are the states of a connection.
const (
	Dialing = "dialing"
	Idle    = "idle"
	Busy    = "busy"
	Closing = "closing" // nothing new begins on it
)

// A Connection is a connection that the daemon holds or is dialing.
type Connection struct {
	Peer       string        `json:"peer"` // user@address:port and jump hosts
	State      string        `json:"state"`
	Age        time.Duration `json:"age_ns"`
	Idle       time.Duration `json:"idle_ns"` // since the last use; 0 while busy
	InFlight   int           `json:"in_flight"`
	Waiting    int           `json:"waiting"`  // for a free session
	Sessions   int           `json:"sessions"` // that the server allows at a time, as far as known
	Runs       uint64        `json:"runs"`
	DialsSaved uint64        `json:"dials_saved"`
	Sent       uint64        `json:"sent_bytes"`
	Received   uint64        `json:"received_bytes"`
}
