# Records what Ruby makes of formats, times, versions and addresses put together
# at random:
#
#   ruby -Eutf-8 record_ruby.rb SEED | gzip -9n > ruby.jsonl.gz
require 'date'
require 'json'
require 'uri'
require 'base64'
require 'semantic_puppet'

srand ARGV[0].to_i
def out(*line) = (puts JSON.generate(line) rescue nil)
def try = (yield rescue nil)
def some(list, n) = Array.new(rand(1..n)) { list.sample }.join

FLOATS = %w[%.1f %.2f %g %.3e %.0f %.3f %.5f %.10f %.17g %.12g %.0e %a %#g %.4a]
900.times do
  x = [rand * 10**rand(-8..20), rand(10**rand(1..12)).to_f / 10**rand(0..9), rand * 10.0**rand(-300..300),
       (rand(10**6) * 10 + 5) / 10.0**rand(1..6)].sample
  f = FLOATS.sample
  out('float', f, [x].pack('G').unpack1('H*'), f % x, x.to_s)
end

FLAGS = ['-', '^', '#', '_', '0', '5', '12', ':', '::', ':::', 'E', 'O', '', '', '', '', '']
900.times do
  f = "%#{FLAGS.sample}#{FLAGS.sample}#{[*'a'..'z', *'A'..'Z', '%', '+', 'n'].sample}#{['x', '%', ''].sample}"
  t = Time.at(rand(-10**11..10**12), rand(10**9), :nsec).utc
  zone = rand < 0.4 ? format('%s%02d:%02d', %w[+ -].sample, rand(24), rand(60)) : ''
  at = zone.empty? ? t : t.dup.localtime(zone)
  out('strftime', f, t.to_i, t.nsec, zone, try { at.strftime(f) })
end

PARTS = %w[%Y %m %d %H %M %S %y %C %b %B %a %A %p %I %j %z %Z %N %L %F %T %D %R %r %c %e %k %l %s %U %u %w %v %% %n %G %V
           %x %X %Ey %Od %:z %q %E %+]
TEXTS = ['2001', '02', '3', '-5', '99', 'Jan', 'february', 'Monday', 'PM', 'a.m.', 'UTC', '+01:30', 'EST', ' ', ':', '-', '/',
         'T', '.5', '123456', '0', '12', 'x', '%', 'CEST', 'GMT-3', 'Eastern Standard Time', '+5', 'EST DST', 'Z', '04:05:06',
         '2001-02-03']
900.times do
  f = Array.new(rand(1..4)) { PARTS.sample + ['', ' ', '-', ':'].sample }.join
  s = rand < 0.5 ? some(TEXTS, 6) : DateTime.new(2001, 2, 3, 4, 5, 6).strftime(f)
  h = DateTime._strptime(s, f)
  out('strptime', s, f, h && [h[:year], h[:mon], h[:mday], h[:hour], h[:min], h[:sec], h[:sec_fraction]&.to_f, h[:zone], h.key?(:leftover)])
end

ZONES = ['+', '-', '1', '12', '5', ':', '30', '.5', ',', 'UTC', 'GMT', 'utc', 'est', 'EST', 'pacific', ' standard time',
         ' daylight time', ' dst', 'x', '  ', 'a', 'Z', '99', 'é', '_', '.', "\t"]
500.times do
  zone = some(ZONES, 4)
  h = DateTime._strptime(zone, '%z')
  out('zone', zone, h && h[:offset] && h[:offset].to_f.floor)
end

INTS = ['', '+', ' ', '#', '0', '-', '5', '12', '.3', '.0', '.', '.8', '*', '08', '+#012', '-8.4', '1$', '%']
VALUES = [0, 1, -1, 255, -255, 2**62, -2**63, 2.5, -0.1, 1e10, 'abc', 'é€x', '12', '-0x1f', '1.5e3', '0b11', nil, true,
          [1, 'a', nil, 2.5], { 'a' => 1, 'b' => [] }, "a\nb\u{1}\"\#{x}\e\u{200b}\u{e000}"]
1500.times do
  f = "%#{INTS.sample}#{INTS.sample}#{[*'a'..'g', 'i', 'o', 'p', 's', 'u', 'x', 'X', 'B', 'E', 'G', 'A', 'z'].sample}"
  v = VALUES.sample
  out('sprintf', f, v, try { format(f, v) })
end

VERSIONS = %w[1.0.0 1.2.3 2.0.0 1.2 1 x 1.x 0.1.2 1.0.0-rc1 2.0.0-a.1 * 0 3.0.0 1.2.4]
IN = %w[0.0.1 0.1.2 0.1.5 1.0.0 1.0.0-rc1 1.0.0-rc2 1.2.3 1.2.4 1.9.9 2.0.0-a.1 2.0.0-a.2 2.0.0 3.0.0 4.5.6]
700.times do
  r = Array.new(rand(1..3)) { ['', '>', '<', '>=', '<=', '~', '^', '=', '~>', '>= ', '~ '].sample + VERSIONS.sample }.join([' ', ' || ', ' - ', '  '].sample)
  range = SemanticPuppet::VersionRange.parse(r)
  out('range', r, range.inspect, IN.select { |v| range.include?(SemanticPuppet::Version.parse(v)) }.join(' '))
rescue NameError
  next # where two ranges end at the same version
rescue ArgumentError
  out('range', r, nil, nil)
end

URIS = ['http', 'ftp', 'file', 'mailto', 'x', ':', '/', '//', 'a', 'b@c', ':80', '?q=1', '#f', '%20', '%zz', ' ', '1.2.3.4', 'h',
        '..', 'é', 'ldap', 'urn', 'https', ';type=i', '@', "'", '"', '[', ']', '~', 'localhost', 'http://[::1]', 'http://[1::2:1.2.3.4]']
1000.times do
  s = some(URIS, 6)
  u = try { URI.parse(s) }
  out('uri', s, u && [u.to_s, u.scheme, u.userinfo, u.host, u.port, u.path, u.query, u.fragment, u.opaque])
end

300.times do
  s = Array.new(rand(0..9)) { ['A', 'b', '+', '/', '-', '_', '=', '1', ' ', "\n", 'é'].sample }.join
  out('base64', s, try { Base64.strict_decode64(s).bytes }, try { Base64.urlsafe_decode64(s).bytes }, Base64.decode64(s + '=' * (s.length % 3)).bytes)
end
