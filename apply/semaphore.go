package apply

import (
	"slices"

	"bolt/catalog/types"
)

// The metaparameter sema. A step takes all its semaphores at once, or waits for a semaphore and holds none. So steps cannot wait
// for each other. Only the scheduler's goroutine uses the semaphores.

// A semaphore counts how many more steps can hold it.
type semaphore struct {
	left    int
	waiting []*step // in the order in which they came
}

// semaphores returns the semaphores of a step.
func (s *scheduler) semaphores(st *step) []types.Semaphore {
	if s.o.Sema == 0 {
		return st.meta.Semaphores
	}
	return append(slices.Clip(st.meta.Semaphores), types.Global(s.o.Sema))
}

func (s *scheduler) semaphore(sem types.Semaphore) *semaphore {
	found := s.semas[sem.ID]
	if found == nil {
		found = &semaphore{left: sem.Count}
		if s.semas == nil {
			s.semas = make(map[string]*semaphore)
		}
		s.semas[sem.ID] = found
	}
	return found
}

// lacking returns a semaphore of a step that is not free, and that a batch does not hold already; nil if there is none.
func (s *scheduler) lacking(st *step, held []types.Semaphore) *semaphore {
	for _, sem := range s.semaphores(st) {
		if found := s.semaphore(sem); found.left == 0 && !slices.Contains(held, sem) {
			return found
		}
	}
	return nil
}

// take takes the semaphores of a step that a batch does not hold yet. They are free.
func (s *scheduler) take(st *step, held []types.Semaphore) []types.Semaphore {
	for _, sem := range s.semaphores(st) {
		if !slices.Contains(held, sem) {
			s.semaphore(sem).left--
			held = append(held, sem)
		}
	}
	return held
}

// park makes a step wait for a semaphore. Another step that waited for another of its semaphores can take that semaphore.
func (s *scheduler) park(st *step, lacks *semaphore) {
	lacks.waiting = append(lacks.waiting, st)
	for _, sem := range s.semaphores(st) {
		if other := s.semaphore(sem); other != lacks {
			s.admit(other)
		}
	}
}

// yield lets other steps take the semaphores of a step that does not take them, because it is skipped.
func (s *scheduler) yield(st *step) {
	for _, sem := range s.semaphores(st) {
		s.admit(s.semaphore(sem))
	}
}

// release gives the semaphores of a batch back.
func (s *scheduler) release(held []types.Semaphore) {
	for _, sem := range held {
		found := s.semaphore(sem)
		found.left++
		s.admit(found)
	}
}

// admit gives back to the queue as many steps as can have a semaphore now. They try again to take all of theirs.
func (s *scheduler) admit(sem *semaphore) {
	n := min(sem.left, len(sem.waiting))
	for _, st := range sem.waiting[:n] {
		s.push(st)
	}
	sem.waiting = sem.waiting[n:]
}
