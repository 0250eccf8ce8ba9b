class { 'setting::nftables':
  rules => @(END),
    table inet filter {
      chain input {
        type filter hook input priority filter; policy drop;
        ct state established,related accept
        iifname "lo" accept
        meta l4proto { icmp, ipv6-icmp } accept
        tcp dport { 22, 80, 443 } accept
      }
    }
    | END
}
