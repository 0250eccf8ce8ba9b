package targeting

import (
	"context"
	"time"

	"bolt/facts"
	"bolt/format/ordered"
)

// Facts returns the fact store of the project.
func (s *Sources) Facts() *facts.Store {
	return facts.Open(s.o.Project.Dir, s.o.FactCache, time.Now())
}

// CachedFacts returns stored facts of a target, for the selection of targets.
func (s *Sources) CachedFacts(ctx context.Context, name string, names []string) (*ordered.Map, error) {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	if s.kept == nil {
		s.kept = facts.NewChosen(s.Facts(), s.o.Config.FactMaxAge)
	}
	return s.kept.Of(ctx, name, names)
}

// WarnFacts warns if CachedFacts has returned old facts, or found damaged ones.
func (s *Sources) WarnFacts() {
	s.keptMu.Lock()
	defer s.keptMu.Unlock()
	s.kept.Warn(s.o.Logs.Warn)
}
