package rollout

import "fmt"

// governed folds a report of the driver.
func (s *State) governed(e *Governed, at int64) error {
	if e.Session != s.session || e.Session == "" || e.Places < 0 {
		return fmt.Errorf("the session %q cannot have %d places of a governor now", e.Session, e.Places)
	}
	if s.waitsForPlace() && e.Places > 0 { // the wait is not the fault of a node
		s.progress.restart(at)
	}
	s.places = e.Places
	return nil
}

// Places returns the number of places of the governor that the driver has, as it has reported.
func (s *State) Places() int { return s.places }

// Wants returns the number of places that the driver should have: one for each node in work, and one for each node that
// could start. It is 0 without a governor.
func (s *State) Wants() int {
	if s.created == nil || s.session == "" {
		return 0
	}
	g := s.created.Strategy.Rules.Parallel.Governor
	n := len(s.flight)
	if s.phase == Running && s.step == waveNodes && !s.paused && s.stop.end == "" {
		free, _ := (&decision{State: s}).ownRoom()
		n += min(free, s.queue.waiting)
	}
	return min(n, g.Max)
}

// waitsForPlace reports whether nodes wait, and none can start because the driver has no place of the governor.
func (s *State) waitsForPlace() bool {
	return s.created.Strategy.Rules.Parallel.Governor.Name != "" && s.places == 0 && len(s.flight) == 0 && s.queue.waiting > 0
}

// room returns the number of nodes that can start now, and the limit that holds back the others.
func (d *decision) room() (free int, why string) {
	free, why = d.ownRoom()
	if g := d.rules().Parallel.Governor; g.Name != "" {
		if n := max(d.places-len(d.flight), 0); n < free {
			free, why = n, fmt.Sprintf("the governor %s gives no place", g.Name)
		}
	}
	return free, why
}
