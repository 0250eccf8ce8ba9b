package webhook

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/rollout"
)

// answering is a RoundTripper.
type answering func() (*http.Response, error)

func (f answering) RoundTrip(*http.Request) (*http.Response, error) { return f() }

// BenchmarkDrive drives a rollout of 10,000 nodes without webhooks, with a receiver that is dead, and with one that takes all events at once.
// It reports the CPU time and the time of a drive without Close, the time of Close, the heap, and the number of sent events.
func BenchmarkDrive(b *testing.B) {
	for name, answer := range map[string]answering{
		"none": nil,
		"dead": func() (*http.Response, error) { return nil, syscall.ECONNREFUSED },
		"live": func() (*http.Response, error) { return status(http.StatusNoContent), nil },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := open(b, b.TempDir())
				begun(b, s, "strategy: {waves: [{count: 1}, {percent: 10}, {rest: true}], concurrency: {max: 100}}", 10_000)
				var d *Deliverer
				var sent atomic.Int64
				if answer != nil {
					hooks, err := Read([]any{webhookOf("https://hooks.example", all)}, "bolt-project.yaml")
					if err != nil {
						b.Fatal(err)
					}
					d = New(b.Context(), Options{Logs: s, Holder: "ann", Hooks: hooks, Transport: answering(func() (*http.Response, error) {
						sent.Add(1)
						return answer()
					})})
				}
				runtime.GC()
				cpu, start := processor(b), time.Now()
				end, err := drive(b.Context(), s, d, works{}, "s")
				if err != nil || end.Phase != rollout.Succeeded {
					b.Fatalf("%+v, %v", end, err)
				}
				b.ReportMetric(time.Since(start).Seconds(), "s/drive")
				start = time.Now()
				d.Close()
				b.ReportMetric(time.Since(start).Seconds(), "s/close")
				b.ReportMetric((processor(b) - cpu).Seconds(), "cpu-s")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MB")
				b.ReportMetric(float64(sent.Load()), "sent")
			}
		})
	}
}

// processor is the CPU time of the process.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
