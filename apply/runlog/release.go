package runlog

import (
	"errors"
	"fmt"
)

// A DriftError is the error of Begin if the node has another release than the expected one. Nothing was changed.
type DriftError struct {
	Have string // the digest of the release; "" if a catalog without a release was applied last
	Want string // the expected release
}

func (e *DriftError) Error() string {
	const digits = 12
	want := e.Want[:min(len(e.Want), digits)]
	if e.Have == "" {
		return fmt.Sprintf("a catalog that belongs to no release was applied on this node, and the release %s is expected there", want)
	}
	return fmt.Sprintf("this node has the release %s, and the release %s is expected there", e.Have[:min(len(e.Have), digits)], want)
}

// Drift compares the release of a node with the one that a run expects. The error is a *DriftError if the node has neither this
// release nor that of the run. A node without a record has no known release, and is accepted.
func (l *Lock) Drift(s *Start) error {
	have, err := l.releases()
	if err != nil {
		return err
	}
	return drift(have, s)
}

func drift(have map[string]string, s *Start) error {
	if r, known := have[s.Node]; known && s.Expected != "" && r != s.Expected && r != s.Release {
		return &DriftError{Have: r, Want: s.Expected}
	}
	return nil
}

// accept checks the release of the node for a run, and returns the releases of all nodes.
func (l *Lock) accept(s *Start) (map[string]string, error) {
	if s.Noop {
		return nil, nil
	}
	have, err := l.releases()
	if err != nil {
		return nil, err
	}
	return have, drift(have, s)
}

// enter records the release of a run that begins, among the releases of all nodes.
func (l *Lock) enter(s *Start, have map[string]string) error {
	if r, known := have[s.Node]; s.Noop || known && r == s.Release {
		return nil
	}
	have[s.Node] = s.Release
	return setTable(l.dir, releaseName, have)
}

func (l *Lock) releases() (map[string]string, error) {
	have, err := table[string](l.dir, releaseName)
	if errors.Is(err, errDamaged) {
		return nil, fmt.Errorf("%s is damaged: remove it. The next rollout then accepts each release on this node", l.dir.Path(releaseName))
	}
	return have, err
}
