package sshtest

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// HeedSignals makes child processes of the test react to signals. nohup(1) and shells
// (for background jobs) start the test program with ignored signals. Its children would
// inherit that, and a test that signals them would wait forever. Go resets signals that
// are caught here in a child. The test itself still ignores them.
//
// Start calls it. A test without a server that signals a process calls it, too.
var HeedSignals = sync.OnceFunc(func() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})
