// Package logging writes the operators' log: to the console (stderr) and to files such
// as bolt-debug.log, each with its own level and layout.
//
// Results of actions are not log records; they go to stdout through output. A Log owns
// its files until Close. It has no goroutine, and the call that logs a record has
// passed it to the kernel when it returns.
//
// Some attributes have a special meaning. keyID names a warning: it is shown as " [ID:
// x]", and the user can disable the warning by it. keyTarget and keyComponent fill the
// columns of a log file. All others are shown as key=value after the message. Secrets
// (transport.Secret) redact themselves.
package logging

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"bolt/internal/ownfile"
)

// The levels that slog does not name.
const (
	LevelTrace slog.Level = -8
	LevelFatal slog.Level = 12
)

// Keys of the attributes that the layouts show in their own way.
const (
	keyID        = "id"
	keyTarget    = "target"
	keyComponent = "component"
)

// fileMode is the mode, before the umask, of a new log file: logs contain command lines
// and names of machines.
const fileMode = 0o640

// Options selects the destinations of records. The zero value discards all records.
type Options struct {
	Console      io.Writer // nil: no console. A record arrives as one Write, one at a time.
	ConsoleLevel slog.Level
	Color        bool // warnings yellow, errors red; Bolt does so even without a terminal

	Files []File

	// Disabled holds the IDs of warnings that the user does not want to see.
	Disabled []string
}

// File is a log file.
type File struct {
	Path   string
	Level  slog.Level
	Append bool // keep what earlier runs wrote
	// Optional makes it a warning, not an error, that the file cannot be opened. The
	// program itself chooses the path of such a file, so the file must not be a link or
	// a file that another user has put there.
	Optional bool
}

// Log is an open set of destinations. It is safe for concurrent use.
type Log struct {
	logger *slog.Logger
	files  []*os.File

	mu     sync.Mutex
	warned map[string]bool
}

// Open opens the destinations. An optional file that cannot be opened is left
// out, with a warning on the others.
func Open(o Options) (*Log, error) {
	h := &handler{disabled: make(map[string]bool, len(o.Disabled))}
	for _, id := range o.Disabled {
		h.disabled[id] = true
	}
	if o.Console != nil {
		h.sinks = append(h.sinks, &sink{level: o.ConsoleLevel, layout: consoleLayout(o.Color), w: o.Console})
	}
	l := &Log{logger: slog.New(h), warned: make(map[string]bool)}
	var unopened []error
	for _, file := range o.Files {
		// Even a truncated file is appended to, so that two runs at the same
		// time do not write over each other.
		flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
		if !file.Append {
			flags |= os.O_TRUNC
		}
		open := ownfile.OpenNamed
		if file.Optional {
			open = ownfile.OpenOwn
		}
		f, err := open(file.Path, flags, fileMode)
		if err != nil {
			if !file.Optional {
				l.Close()
				return nil, fmt.Errorf("open log: %w", err)
			}
			unopened = append(unopened, err)
			continue
		}
		l.files = append(l.files, f)
		h.sinks = append(h.sinks, &sink{level: file.Level, layout: fileLayout, w: f})
	}
	for _, err := range unopened {
		l.WarnOnce("unwriteable_file", fmt.Sprintf("This run leaves no log file: %v", err))
	}
	return l, nil
}

// Logger returns the logger that writes to all destinations.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Warn logs a warning that has an ID.
func (l *Log) Warn(id, text string) { l.logger.Warn(text, keyID, id) }

// WarnOnce is Warn, but only the first time for each ID.
func (l *Log) WarnOnce(id, text string) {
	l.mu.Lock()
	known := l.warned[id]
	l.warned[id] = true
	l.mu.Unlock()
	if !known {
		l.Warn(id, text)
	}
}

// WarnEach is Warn, but only the first time for each text.
func (l *Log) WarnEach(id, text string) {
	key := id + "\x00" + text
	l.mu.Lock()
	known := l.warned[key]
	l.warned[key] = true
	l.mu.Unlock()
	if !known {
		l.Warn(id, text)
	}
}

// Close closes the log files. The Log must not be used afterwards.
func (l *Log) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}

// Early keeps warnings from before the log is open, because the configuration that
// causes a warning also configures the log. The zero value is ready to use; it is not
// safe for concurrent use.
type Early struct{ warnings [][2]string }

// Warn keeps a warning.
func (e *Early) Warn(id, text string) { e.warnings = append(e.warnings, [2]string{id, text}) }

// Flush logs the warnings to l, in order, and then removes them.
func (e *Early) Flush(l *Log) {
	for _, w := range e.warnings {
		l.Warn(w[0], w[1])
	}
	e.warnings = nil
}

// Levels lists the names of all levels, from the most to the least verbose.
func Levels() []string {
	var names []string
	for _, l := range levels() {
		names = append(names, levelName(l))
	}
	return names
}

// ParseLevel returns the level of one of the names of Levels.
func ParseLevel(name string) (slog.Level, error) {
	for _, l := range levels() {
		if levelName(l) == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("log level %q: not one of %s", name, strings.Join(Levels(), ", "))
}

func levels() []slog.Level {
	return []slog.Level{LevelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, LevelFatal}
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	case l < LevelFatal:
		return "error"
	}
	return "fatal"
}
