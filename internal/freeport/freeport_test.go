package freeport

import (
	"fmt"
	"net"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	ports, err := Find(20)
	if err != nil || len(ports) != 20 {
		t.Fatal(ports, err)
	}
	slices.Sort(ports)
	if len(slices.Compact(slices.Clone(ports))) != 20 || ports[0] < fmt.Sprint(low) || ports[19] >= fmt.Sprint(high) {
		t.Errorf("ports are %v", ports)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", ports[0]))
	if err != nil {
		t.Fatalf("a port is not free: %v", err)
	}
	l.Close()
}
