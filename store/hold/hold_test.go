package hold

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"bolt/store"
	"bolt/store/files"
)

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := files.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var errRefused = errors.New("refused")

func refuse(*store.HeldError) error { return errRefused }

// TestRenewed checks that the lease lasts as long as the work, and ends with it.
func TestRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		err := While(t.Context(), s, "x", "ada", refuse, func(ctx context.Context, first store.Fence) error {
			time.Sleep(10 * leaseTime)
			err := While(ctx, s, "x", "ben", func(e *store.HeldError) error {
				if e.Holder != "ada" {
					t.Errorf("%v", e)
				}
				return errRefused
			}, func(context.Context, store.Fence) error { return nil })
			if !errors.Is(err, errRefused) {
				t.Errorf("a second holder: %v", err)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		failed := errors.New("failed")
		if err := While(t.Context(), s, "x", "ben", refuse, func(context.Context, store.Fence) error { return failed }); !errors.Is(err, failed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestWaits checks that held is called once, and that a second holder gets the lease when the first one has ended.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		begun := make(chan store.Fence)
		end := make(chan error)
		go func() {
			end <- While(t.Context(), s, "x", "ada", refuse, func(ctx context.Context, f store.Fence) error {
				begun <- f
				time.Sleep(time.Minute)
				return ctx.Err()
			})
		}()
		first, calls := <-begun, 0
		err := While(t.Context(), s, "x", "ben", func(*store.HeldError) error { calls++; return nil }, func(_ context.Context, second store.Fence) error {
			if second <= first {
				t.Errorf("fence %d after %d", second, first)
			}
			return nil
		})
		if err != nil || calls != 1 {
			t.Errorf("%v, %d calls", err, calls)
		}
		if err := <-end; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = While(ctx, s, "y", "ada", refuse, func(context.Context, store.Fence) error {
			return While(ctx, s, "y", "ben", func(*store.HeldError) error { return nil }, func(context.Context, store.Fence) error { return nil })
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end of the context: %v", err)
		}
	})
}

// A takenStore has leases that another process takes over at once.
type takenStore struct{ store.Store }

func (s takenStore) Lease(ctx context.Context, name, holder string, _ time.Duration) (store.Lease, error) {
	l, err := s.Store.Lease(ctx, name, holder, time.Second)
	if err == nil {
		time.Sleep(2 * time.Second)
		_, err = s.Store.Lease(ctx, name, "eve", time.Hour)
	}
	return l, err
}

// TestLost checks that the work ends if the lease is lost.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := While(t.Context(), takenStore{open(t)}, "x", "ada", refuse, func(ctx context.Context, _ store.Fence) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if e, is := errors.AsType[*store.HeldError](err); !is || e.Holder != "eve" {
			t.Errorf("%v", err)
		}
	})
}
