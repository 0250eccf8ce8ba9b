package cli

import (
	"errors"
	"fmt"
)

// Errors of commands that have printed everything. The program only chooses the exit code.
var (
	// ErrFailed means that the command failed, also for one of several targets.
	ErrFailed = errors.New("failed")
	// ErrDifferent means that a comparison found differences.
	ErrDifferent = errors.New("there are differences")
	// ErrWaits means that a rollout is paused, or waits for an approval or a window.
	ErrWaits = errors.New("the rollout waits")
)

// ErrWrite means that standard output cannot be written to any more, so the work was stopped.
var ErrWrite = errors.New("results could not be written, so the work was stopped")

// Complete reports whether nothing more has to be printed after a command with this error.
func Complete(err error) bool {
	return err == nil || errors.Is(err, ErrFailed) || errors.Is(err, ErrDifferent) || errors.Is(err, ErrWaits) || errors.Is(err, ErrWrite)
}

// Failed returns ErrFailed if failed is set and err is nil, and err otherwise.
func Failed(failed bool, err error) error {
	if err == nil && failed {
		return ErrFailed
	}
	return err
}

// Written adds ErrWrite to an error of writing to standard output.
func Written(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrWrite, err)
}
