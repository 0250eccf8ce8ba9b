package builtin

import "math/bits"

// SeededRand returns the number from 0 to below limit that Ruby's
// Random.new(seed).rand(limit) returns. The seed is given as bytes, the most
// significant first.
func SeededRand(seed []byte, limit uint64) uint64 { return NewTwister(seed).Below(limit) }

// Below returns the next number from 0 to below limit. Like Ruby's Random#rand,
// it takes as many bits as limit needs, and repeats this until the number is
// below limit.
func (m *Twister) Below(limit uint64) uint64 {
	if limit <= 1 {
		return 0
	}
	top := limit - 1
	mask := uint64(1)<<bits.Len64(top) - 1
	for {
		var v uint64
		if mask > 1<<32-1 {
			v = uint64(m.next()) << 32 & mask
			if v > top {
				continue
			}
		}
		if v = (v | uint64(m.next())) & mask; v <= top {
			return v
		}
	}
}

// wordsOf converts a number to 32-bit words, the least significant first,
// without leading zeros. Like Ruby, it drops a top word of 1.
func wordsOf(b []byte) []uint32 {
	var w []uint32
	for end := len(b); end > 0; end -= 4 {
		var x uint32
		for _, c := range b[max(0, end-4):end] {
			x = x<<8 | uint32(c)
		}
		w = append(w, x)
	}
	for len(w) > 1 && w[len(w)-1] == 0 {
		w = w[:len(w)-1]
	}
	if len(w) > 1 && w[len(w)-1] == 1 {
		w = w[:len(w)-1]
	}
	if len(w) == 0 {
		w = []uint32{0}
	}
	return w
}

const (
	twisterSize  = 624
	twisterShift = 397
)

// A Twister is Ruby's Random: the Mersenne Twister MT19937 (Matsumoto and
// Nishimura, 1998), seeded with an array of words.
type Twister struct {
	state [twisterSize]uint32
	at    int
}

// NewTwister returns Random.new(seed). The seed is given as bytes, the most
// significant first.
func NewTwister(seed []byte) *Twister {
	key := wordsOf(seed)
	m := &Twister{at: twisterSize}
	s := &m.state
	if len(key) == 1 {
		m.seed(key[0])
		return m
	}
	m.seed(19650218)
	i, j := 1, 0
	for range max(twisterSize, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		if i++; i == twisterSize {
			s[0], i = s[twisterSize-1], 1
		}
		if j++; j == len(key) {
			j = 0
		}
	}
	for range twisterSize - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == twisterSize {
			s[0], i = s[twisterSize-1], 1
		}
	}
	s[0] = 1 << 31
	return m
}

func (m *Twister) seed(x uint32) {
	m.state[0] = x
	for i := 1; i < twisterSize; i++ {
		x = 1812433253*(x^x>>30) + uint32(i)
		m.state[i] = x
	}
}

func (m *Twister) next() uint32 {
	s := &m.state
	if m.at == twisterSize {
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%twisterSize]&(1<<31-1)
			s[i] = s[(i+twisterShift)%twisterSize] ^ y>>1 ^ -(y&1)&0x9908b0df
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
