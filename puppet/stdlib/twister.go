package stdlib

import "math/bits"

// A twister is Ruby's Random: the Mersenne Twister MT19937 (Matsumoto and
// Nishimura, 1998), seeded by an array of words.
type twister struct {
	state [624]uint32
	at    int
}

// newTwister returns Random.new of a seed that is written as bytes, the most
// significant first.
func newTwister(seed []byte) *twister {
	var key []uint32 // the least significant first
	for end := len(seed); end > 0; end -= 4 {
		var x uint32
		for _, c := range seed[max(0, end-4):end] {
			x = x<<8 | uint32(c)
		}
		key = append(key, x)
	}
	for len(key) > 1 && key[len(key)-1] == 0 {
		key = key[:len(key)-1]
	}
	if len(key) > 1 && key[len(key)-1] == 1 { // Ruby drops it
		key = key[:len(key)-1]
	}
	m := &twister{at: len(twister{}.state)}
	if len(key) == 1 {
		m.seed(key[0])
		return m
	}
	m.seed(19650218)
	s := &m.state
	i, j := 1, 0
	step := func() {
		if i++; i == len(s) {
			s[0], i = s[len(s)-1], 1
		}
	}
	for range max(len(s), len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		step()
		j = (j + 1) % len(key)
	}
	for range len(s) - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		step()
	}
	s[0] = 1 << 31
	return m
}

func (m *twister) seed(x uint32) {
	m.state[0] = x
	for i := 1; i < len(m.state); i++ {
		x = 1812433253*(x^x>>30) + uint32(i)
		m.state[i] = x
	}
}

func (m *twister) next() uint32 {
	s := &m.state
	if m.at == len(s) {
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%len(s)]&(1<<31-1)
			s[i] = s[(i+397)%len(s)] ^ y>>1 ^ -(y&1)&0x9908b0df
		}
		m.at = 0
	}
	y := s[m.at]
	m.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below is Random#rand(limit): as many bits as it takes, again until they are
// below.
func (m *twister) below(limit uint32) uint32 {
	if limit < 2 {
		return 0
	}
	mask := uint32(uint64(1)<<bits.Len32(limit-1) - 1)
	for {
		if v := m.next() & mask; v < limit {
			return v
		}
	}
}
