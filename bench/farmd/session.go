package main

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Message numbers of the connection protocol, RFC 4254 section 9.
const (
	msgGlobalRequest  = 80
	msgRequestFailure = 82
	msgChannelOpen    = 90
	msgOpenConfirm    = 91
	msgOpenFailure    = 92
	msgWindowAdjust   = 93
	msgChannelData    = 94
	msgExtendedData   = 95
	msgChannelEOF     = 96
	msgChannelClose   = 97
	msgChannelRequest = 98
	msgChannelSuccess = 99
	msgChannelFailure = 100
)

// window is the number of bytes that a client may send on a channel before
// the window is enlarged.
const window = 1 << 20

// A channel is one session. The client's number names it on both sides.
type channel struct {
	taken  uint32 // bytes that came since the window was opened
	closed bool   // by the server
}

// serve answers on a connection until it ends.
func (s *server) serve(l *link) error {
	channels := make(map[uint32]*channel)
	for {
		p, err := l.next()
		if err != nil {
			return err
		}
		switch p[0] {
		case msgIgnore, msgDebug, msgUnimplemented, msgExtInfo:
		case msgGlobalRequest:
			// No request is known here; this is also the answer to
			// keepalives.
			if n := 1 + 4 + int(first(p[1:])); n < len(p) && p[n] != 0 {
				l.put([]byte{msgRequestFailure})
			}
		case msgChannelOpen:
			err = open(l, channels, p)
		case msgWindowAdjust, msgExtendedData, msgChannelData, msgChannelEOF, msgChannelClose, msgChannelRequest:
			id := first(p[1:])
			c := channels[id]
			if c == nil {
				return fmt.Errorf("message %d for channel %d, which is not open", p[0], id)
			}
			if p[0] == msgChannelClose {
				delete(channels, id)
			}
			err = s.channel(l, c, id, p)
		default: // also another key exchange: clients here do not send enough data for one
			return fmt.Errorf("message %d", p[0])
		}
		if err != nil {
			return err
		}
	}
}

func open(l *link, channels map[uint32]*channel, p []byte) error {
	var ask struct {
		Kind       string `sshtype:"90"`
		ID         uint32
		Window, Up uint32
		Rest       []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(p, &ask); err != nil {
		return err
	}
	if ask.Kind != "session" || channels[ask.ID] != nil {
		l.put(ssh.Marshal(struct {
			ID, Reason     uint32 `sshtype:"92"`
			Text, Language string
		}{ask.ID, 3, "only sessions here", ""}))
		return nil
	}
	channels[ask.ID] = &channel{}
	l.put(message(msgOpenConfirm, ask.ID, ask.ID, window, maxPacket-3000))
	return nil
}

// channel answers a message for an open channel.
func (s *server) channel(l *link, c *channel, id uint32, p []byte) error {
	switch p[0] {
	case msgChannelData:
		if len(p) < 9 {
			return fmt.Errorf("a message of %d bytes", len(p))
		}
		if c.taken += uint32(len(p) - 9); c.taken > window/2 {
			l.put(message(msgWindowAdjust, id, c.taken))
			c.taken = 0
		}
	case msgChannelEOF:
	case msgChannelClose:
		if !c.closed {
			l.put(message(msgChannelClose, id))
		}
	case msgChannelRequest:
		return s.request(l, c, id, p)
	}
	return nil
}

// request answers the first exec, RFC 4254 sections 6.5 and 6.10. All other
// requests are rejected.
func (s *server) request(l *link, c *channel, id uint32, p []byte) error {
	var ask struct {
		ID    uint32 `sshtype:"98"`
		Kind  string
		Reply bool
		Rest  []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(p, &ask); err != nil {
		return err
	}
	known := !c.closed && ask.Kind == "exec"
	if ask.Reply && !c.closed {
		answer := byte(msgChannelFailure)
		if known {
			answer = msgChannelSuccess
		}
		l.put(message(answer, id))
	}
	if !known {
		return nil
	}
	var exec struct{ Line []byte }
	if err := ssh.Unmarshal(ask.Rest, &exec); err != nil {
		return err
	}
	s.exec(l, c, id, exec.Line)
	return nil
}

// end reports success and closes.
func (c *channel) end(l *link, id uint32) {
	l.put(ssh.Marshal(struct {
		ID     uint32 `sshtype:"98"`
		Kind   string
		Reply  bool
		Status uint32
	}{id, "exit-status", false, 0}))
	l.put(message(msgChannelEOF, id))
	l.put(message(msgChannelClose, id))
	c.closed = true
}

// print sends output, which is always smaller than a client's window.
func print(l *link, id uint32, data []byte) {
	p := message(msgChannelData, id, uint32(len(data)))
	l.put(append(p, data...))
}

// complain sends standard error, in the same way.
func complain(l *link, id uint32, data []byte) {
	const stderr = 1 // RFC 4254 section 5.2
	p := message(msgExtendedData, id, stderr, uint32(len(data)))
	l.put(append(p, data...))
}

// message returns a message that contains numbers.
func message(kind byte, numbers ...uint32) []byte {
	p := append(make([]byte, 0, 32), kind)
	for _, n := range numbers {
		p = binary.BigEndian.AppendUint32(p, n)
	}
	return p
}

// first returns the number at the beginning of p, 0 if p is too short.
func first(p []byte) uint32 {
	if len(p) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(p)
}
