package firewall

import (
	"strings"
	"sync"
)

// A kind is the form of the values of a parameter in a rule.
type kind int

const (
	single   kind = iota // one argument
	flag                 // no argument; the value is true or false
	words                // one argument: a list with commas
	ports                // --dport for one port, and --dports of multiport for a list
	each                 // an option for each value, with arguments separated by spaces
	pair                 // two arguments
	switches             // the values are options of their own: --set
	bare                 // the module alone; the value is true or false
)

// An option is a parameter of the type firewall with its place in a rule.
type option struct {
	param  string
	module string // of -m; "" for iptables itself; proto for the module of the protocol; target for options after -j
	name   string // such as --sport
	kind   kind
}

// The modules that are not names of modules.
const (
	base   = ""
	proto  = "proto"  // tcp, udp and others: iptables adds -m for -p
	target = "target" // options of the target
)

// options are the parameters that a rule is made of, in the order of the arguments.
var options = sync.OnceValue(func() []option {
	return table(`
source||-s
destination||-d
iniface||-i
outiface||-o
proto||-p
isfragment||-f|flag
sport|proto|--sport|ports
dport|proto|--dport|ports
tcp_option|proto|--tcp-option
tcp_flags|proto|--tcp-flags|pair
icmp|icmp|--icmp-type
physdev_in|physdev|--physdev-in
physdev_out|physdev|--physdev-out
physdev_is_bridged|physdev|--physdev-is-bridged|flag
physdev_is_in|physdev|--physdev-is-in|flag
physdev_is_out|physdev|--physdev-is-out|flag
stat_mode|statistic|--mode
stat_every|statistic|--every
stat_packet|statistic|--packet
stat_probability|statistic|--probability
src_range|iprange|--src-range
dst_range|iprange|--dst-range
uid|owner|--uid-owner
gid|owner|--gid-owner
mac_source|mac|--mac-source
src_type|addrtype|--src-type|each
dst_type|addrtype|--dst-type|each
socket|socket||bare
pkttype|pkttype|--pkt-type
ipsec_dir|policy|--dir
ipsec_policy|policy|--pol
state|state|--state|words
ctstate|conntrack|--ctstate|words
ctproto|conntrack|--ctproto
ctorigsrc|conntrack|--ctorigsrc
ctorigdst|conntrack|--ctorigdst
ctreplsrc|conntrack|--ctreplsrc
ctrepldst|conntrack|--ctrepldst
ctorigsrcport|conntrack|--ctorigsrcport
ctorigdstport|conntrack|--ctorigdstport
ctreplsrcport|conntrack|--ctreplsrcport
ctrepldstport|conntrack|--ctrepldstport
ctstatus|conntrack|--ctstatus|words
ctexpire|conntrack|--ctexpire
ctdir|conntrack|--ctdir
hop_limit|hl|--hl-eq
limit|limit|--limit
burst|limit|--limit-burst
length|length|--length
recent|recent||switches
rseconds|recent|--seconds
reap|recent|--reap|flag
rhitcount|recent|--hitcount
rttl|recent|--rttl|flag
rname|recent|--name
mask|recent|--mask
rsource|recent|--rsource|flag
rdest|recent|--rdest|flag
ipset|set|--match-set|each
string|string|--string
string_hex|string|--hex-string
string_algo|string|--algo
string_from|string|--from
string_to|string|--to
match_mark|mark|--mark
connmark|connmark|--mark
mss|tcpmss|--mss
connlimit_upto|connlimit|--connlimit-upto
connlimit_above|connlimit|--connlimit-above
connlimit_mask|connlimit|--connlimit-mask
time_start|time|--timestart
time_stop|time|--timestop
month_days|time|--monthdays|words
week_days|time|--weekdays|words
date_start|time|--datestart
date_stop|time|--datestop
time_contiguous|time|--contiguous|flag
kernel_timezone|time|--kerneltz|flag
hashlimit_upto|hashlimit|--hashlimit-upto
hashlimit_above|hashlimit|--hashlimit-above
hashlimit_name|hashlimit|--hashlimit-name
hashlimit_burst|hashlimit|--hashlimit-burst
hashlimit_mode|hashlimit|--hashlimit-mode
hashlimit_srcmask|hashlimit|--hashlimit-srcmask
hashlimit_dstmask|hashlimit|--hashlimit-dstmask
hashlimit_htable_size|hashlimit|--hashlimit-htable-size
hashlimit_htable_max|hashlimit|--hashlimit-htable-max
hashlimit_htable_expire|hashlimit|--hashlimit-htable-expire
hashlimit_htable_gcinterval|hashlimit|--hashlimit-htable-gcinterval
rpfilter|rpfilter||switches
name|comment|--comment
jump||-j
goto||-g
queue_num|target|--queue-num
queue_bypass|target|--queue-bypass|flag
nflog_group|target|--nflog-group
nflog_prefix|target|--nflog-prefix
nflog_range|target|--nflog-range
nflog_size|target|--nflog-size
nflog_threshold|target|--nflog-threshold
gateway|target|--gateway
clamp_mss_to_pmtu|target|--clamp-mss-to-pmtu|flag
set_mss|target|--set-mss
set_dscp|target|--set-dscp
todest|target|--to-destination
tosource|target|--to-source
toports|target|--to-ports
to|target|--to
checksum_fill|target|--checksum-fill|flag
random_fully|target|--random-fully|flag
random|target|--random|flag
log_prefix|target|--log-prefix
log_level|target|--log-level
log_uid|target|--log-uid|flag
log_tcp_sequence|target|--log-tcp-sequence|flag
log_tcp_options|target|--log-tcp-options|flag
log_ip_options|target|--log-ip-options|flag
reject|target|--reject-with
restore_mark|target|--restore-mark|flag
set_mark|target|--set-xmark
nfmask|target|--nfmask
ctmask|target|--ctmask
notrack|target|--notrack|flag
helper|target|--helper
zone|target|--zone
`)
})

// refused are the parameters that bolt does not apply.
var refused = strings.Fields("isfirstfrag ishasmorefrags islastfrag clusterip_new clusterip_hashmode clusterip_clustermac clusterip_total_nodes " +
	"clusterip_local_node clusterip_hash_init u32 src_cc dst_cc bytecode ipvs cgroup condition")

var kinds = map[string]kind{"": single, "flag": flag, "words": words, "ports": ports, "each": each, "pair": pair, "switches": switches, "bare": bare}

func table(text string) (list []option) {
	for line := range strings.FieldsSeq(text) {
		f := append(strings.Split(line, "|"), "")
		list = append(list, option{f[0], f[1], f[2], kinds[f[3]]})
	}
	return list
}

// at returns the module and the option for a protocol: ICMP of IPv6 has a module of its own.
func (o option) at(v6 bool) (module, name string) {
	if o.param == "icmp" && v6 {
		return "icmp6", "--icmpv6-type"
	}
	return o.module, o.name
}

// dscp are the classes of DSCP with their numbers.
var dscp = map[string]string{"af11": "0x0a", "af12": "0x0c", "af13": "0x0e", "af21": "0x12", "af22": "0x14", "af23": "0x16", "af31": "0x1a", "af32": "0x1c", "af33": "0x1e",
	"af41": "0x22", "af42": "0x24", "af43": "0x26", "cs1": "0x08", "cs2": "0x10", "cs3": "0x18", "cs4": "0x20", "cs5": "0x28", "cs6": "0x30", "cs7": "0x38", "ef": "0x2e"}

// protocols are the names of protocols that are written as numbers.
var protocols = map[string]string{"1": "icmp", "2": "igmp", "4": "ipencap", "6": "tcp", "7": "cbt", "17": "udp", "47": "gre", "50": "esp", "51": "ah", "58": "ipv6-icmp", "89": "ospf",
	"103": "pim", "112": "vrrp", "132": "sctp", "icmpv6": "ipv6-icmp", "ipv4": "ipencap"}

// icmp4 and icmp6 are the types of ICMP messages.
var (
	icmp4 = map[string]string{"echo-reply": "0", "destination-unreachable": "3", "source-quench": "4", "redirect": "5", "echo-request": "8", "router-advertisement": "9",
		"router-solicitation": "10", "time-exceeded": "11", "parameter-problem": "12", "timestamp-request": "13", "timestamp-reply": "14", "address-mask-request": "17", "address-mask-reply": "18"}
	icmp6 = map[string]string{"destination-unreachable": "1", "too-big": "2", "time-exceeded": "3", "parameter-problem": "4", "echo-request": "128", "echo-reply": "129",
		"router-solicitation": "133", "router-advertisement": "134", "neighbour-solicitation": "135", "neighbour-advertisement": "136", "redirect": "137"}
	levels = map[string]string{"panic": "0", "emerg": "0", "alert": "1", "crit": "2", "err": "3", "error": "3", "warn": "4", "warning": "4", "not": "5", "notice": "5", "info": "6", "debug": "7"}
)

// implied are the values that iptables-save leaves out.
var implied = map[string]string{"proto": "all", "log_level": "4", "burst": "5", "hashlimit_burst": "5", "rname": "DEFAULT"}
