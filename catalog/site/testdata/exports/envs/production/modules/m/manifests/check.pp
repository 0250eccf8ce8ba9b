define m::check($port, $opts = {}) {
  notify { "check ${title} ${port} ${opts}": }
}
