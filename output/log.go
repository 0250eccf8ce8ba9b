package output

import (
	"context"
	"log/slog"

	"bolt/event"
	"bolt/internal/logging"
)

// Log is a sink that writes to bolt's log: begins and ends, the messages of
// plans, and the lines that plans write to the log.
type Log struct {
	// Logs is the destination of the lines.
	Logs *logging.Log
	// WarnCut enables warnings about results of an action whose output was
	// cut.
	WarnCut bool

	action string // the action that is logged
}

// Event writes the line of an event. It returns no error.
func (l *Log) Event(ctx context.Context, e event.Event) error {
	log := l.Logs.Logger()
	switch e := e.(type) {
	case event.ActionBegin:
		if e.Action != event.Plan && e.Action != event.Lookup {
			l.action = e.Action
			log.Info("action begins", "action", e.Action, "object", e.Object, "targets", len(e.Targets))
		}
	case event.ActionEnd:
		if l.action != "" {
			log.Info("action ended", "action", l.action, "elapsed", e.Elapsed)
		}
	case event.TargetEnd:
		if text := e.Result.Truncated("--stream, --output-dir DIR or --format ndjson"); e.Step == nil && l.WarnCut && text != "" {
			l.Logs.Warn("truncated_output", text)
		}
	case event.Message:
		level := slog.LevelInfo
		if e.Verbose {
			level = slog.LevelDebug
		}
		log.Log(ctx, level, e.Logged)
	case event.Log:
		l.line(ctx, e)
	case event.ContainerBegin:
		if !e.Container.Quiet {
			log.Log(ctx, slog.LevelInfo, Headline(e))
		}
	default:
		if line := Headline(e); line != "" {
			log.Log(ctx, slog.LevelInfo, line)
		}
	}
	return nil
}

func (l *Log) line(ctx context.Context, e event.Log) {
	if e.ID != "" {
		l.Logs.Warn(e.ID, e.Text)
		return
	}
	level, err := logging.ParseLevel(e.Level)
	if err != nil {
		level = slog.LevelInfo // no emitter has such a level
	}
	l.Logs.Logger().Log(ctx, level, e.Text)
}
