package ssh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"

	"bolt/internal/readfile"
	"bolt/transport"
)

// Agent forwarding is specified in OpenSSH's PROTOCOL, its messages in
// PROTOCOL.agent. A connection forwards the agent for all of its commands or
// for none: it is part of its route's key. The server can open channels to the
// agent only while a command runs, and the channels end with the last command.
// They pass only the messages that a command needs to log in or to sign: the
// list of keys, and signatures.

const (
	// maxForwarded is the maximum number of channels to the agent on a
	// connection.
	maxForwarded = 32
	// maxAgentMessage is OpenSSH's limit for a message of an agent.
	maxAgentMessage = 256 << 10
)

// The messages of PROTOCOL.agent that bolt passes, and the answer to all
// others.
const (
	agentListKeys = 11
	agentSign     = 13
)

var agentFailure = []byte{0, 0, 0, 1, 5}

// errNoAgent is the error if no agent can be forwarded.
var errNoAgent = errors.New("forward-agent is set, but no ssh-agent is configured: SSH_AUTH_SOCK is not set, or IdentityAgent is none")

// noAgentError returns the error for a connection whose agent cannot be
// forwarded.
func noAgentError(host string, err error) *transport.Error {
	return connectError(transport.ClassUnsupported, host, err, "Start ssh-agent and add a key with ssh-add, or remove the setting forward-agent.")
}

// reachAgent returns an error if the agent that an endpoint forwards does not answer.
func (v *View) reachAgent(ctx context.Context, e *endpoint) error {
	if e.agent == "" {
		return nil
	}
	c, err := v.d.agent.connect(ctx, e.agent)
	switch {
	case err == nil:
		v.d.agent.rest(c)
		return nil
	case readfile.OutOfFiles(err):
		return limitError(e.to.Host, err)
	}
	return noAgentError(e.to.Host, fmt.Errorf("forward-agent is set, but the ssh-agent does not answer: %w", err))
}

// forwarding is the state of a connection's agent forwarding.
type forwarding struct {
	asking  sync.Mutex // held while the server is asked for the first time
	granted bool       // guarded by asking, like refused
	refused bool

	mu   sync.Mutex
	open map[*forwarded]bool
}

// forwarded is one channel to the agent.
type forwarded struct {
	agent net.Conn
	ch    ssh.Channel
}

// askForwarding requests agent forwarding for a session. The first answer
// decides for the connection: sshd refuses further requests, and forwards the
// agent to later sessions without a request.
func (c *Conn) askForwarding(ch ssh.Channel) error {
	if c.e.agent == "" {
		return nil
	}
	f := &c.forwarding
	f.asking.Lock()
	defer f.asking.Unlock()
	ok, err := f.granted, error(nil)
	if !f.refused {
		ok, err = ch.SendRequest("auth-agent-req@openssh.com", !f.granted, nil)
	}
	switch {
	case err != nil:
		return c.requestFailed(err)
	case ok:
		f.granted = true
	case !f.granted:
		f.refused = true
		return &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("%s refuses agent forwarding", c.e.to.Host),
			Hint: "The server's sshd_config or the key's options forbid it (AllowAgentForwarding, no-agent-forwarding); remove the setting forward-agent."}
	}
	return nil
}

// accept takes a channel that the server opens. bolt accepts only channels to the agent.
func (c *Conn) accept(n ssh.NewChannel) {
	if n.ChannelType() != "auth-agent@openssh.com" || c.e.agent == "" || !c.warm.busy() {
		c.answered(n.Reject(ssh.Prohibited, "no channels from the server"))
		return
	}
	c.work.start(func() { c.forward(n) })
}

// forward serves one channel to the agent.
func (c *Conn) forward(n ssh.NewChannel) {
	agent, err := net.Dial("unix", c.e.agent) // it answers at once or not at all
	if err != nil {
		c.log.Warn("agent is not forwarded", "target", c.e.to.Host, "err", err)
		c.answered(n.Reject(ssh.ConnectionFailed, "no agent"))
		return
	}
	defer agent.Close()
	ch, requests, err := n.Accept()
	if err != nil {
		c.answered(err)
		return
	}
	defer ch.Close()
	if !c.work.start(func() { ssh.DiscardRequests(requests) }) {
		return
	}
	f := &forwarded{agent, ch}
	if !c.forwarding.add(f) {
		c.log.Warn("too many connections to the forwarded agent", "target", c.e.to.Host, "limit", maxForwarded)
		return
	}
	defer c.forwarding.remove(f)
	if !c.warm.busy() || c.isOver() {
		return // endForwarding did not see f
	}
	if err := relayAgent(ch, agent); !errors.Is(err, io.EOF) {
		c.log.Debug("forwarded agent", "target", c.e.to.Host, "err", err)
	}
}

// endForwarding ends the channels to the agent if the last command or the connection
// has ended.
func (c *Conn) endForwarding() {
	f := &c.forwarding
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.warm.busy() && !c.isOver() {
		return
	}
	for one := range f.open {
		one.agent.Close()
		c.work.start(func() { one.ch.Close() }) // may wait for the network
	}
}

func (f *forwarding) add(one *forwarded) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.open) >= maxForwarded {
		return false
	}
	if f.open == nil {
		f.open = make(map[*forwarded]bool)
	}
	f.open[one] = true
	return true
}

func (f *forwarding) remove(one *forwarded) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, one)
}

// relayAgent copies requests from a channel to the agent, one at a time, and
// the answers back, until one side ends. Requests that would change the agent
// fail.
func relayAgent(ch, agent io.ReadWriter) error {
	for {
		request, err := readAgentMessage(ch)
		if err != nil {
			return err
		}
		answer := agentFailure
		if kind := request[4]; kind == agentListKeys || kind == agentSign {
			if _, err := agent.Write(request); err != nil {
				return err
			}
			if answer, err = readAgentMessage(agent); err != nil {
				return err
			}
		}
		if _, err := ch.Write(answer); err != nil {
			return err
		}
	}
}

// readAgentMessage reads a message including its length prefix.
func readAgentMessage(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxAgentMessage {
		return nil, fmt.Errorf("a message of %d bytes is not between 1 and %d", n, maxAgentMessage)
	}
	message := make([]byte, len(head)+int(n))
	copy(message, head[:])
	_, err := io.ReadFull(r, message[len(head):])
	return message, err
}
