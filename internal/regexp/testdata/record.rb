# Says what Ruby does with patterns. Each line of standard input is a case,
#   {"p": pattern, "s": [subjects], "t": template of replacements, "l": limit of split},
# each line of standard output the same case with
#   "e": true                                    if Ruby refuses the pattern, or
#   "n": groups, "names": […], "r": [results]    by subject:
#   {"m": [[first, after, …], …], "sub": …, "gsub": …, "split": […], "splitl": […]}
# Offsets are bytes, -1 for a group that took no part. A subject that takes
# more than a second has null. See differ_test.go for its use.
require 'json'
require 'timeout'

$VERBOSE = nil
Encoding.default_external = Encoding::UTF_8
Encoding.default_internal = Encoding::UTF_8

def offsets(subject, match)
  (0...match.size).flat_map do |g|
    match.begin(g).nil? ? [-1, -1] : [match.begin(g), match.end(g)].map { |c| subject[0...c].bytesize }
  end
end

def replaced
  yield
rescue IndexError, RuntimeError
  nil
end

def result(regexp, subject, template, limit)
  Timeout.timeout(1) do
    matches = []
    subject.scan(regexp) { matches << offsets(subject, Regexp.last_match) }
    { 'm' => matches,
      'sub' => replaced { subject.sub(regexp, template) },
      'gsub' => replaced { subject.gsub(regexp, template) },
      'split' => subject.split(regexp),
      'splitl' => subject.split(regexp, limit) }
  end
rescue Timeout::Error
  nil
end

STDIN.each_line do |line|
  c = JSON.parse(line)
  begin
    regexp = Regexp.new(c['p'])
    c['n'] = Regexp.new("(?:#{c['p']}\n)|").match('').size - 1
    c['names'] = regexp.names
    c['r'] = c['s'].map { |s| result(regexp, s, c['t'] || '', c['l'] || -1) }
  rescue RegexpError, ArgumentError
    c['e'] = true
  end
  puts JSON.generate(c)
  STDOUT.flush
end
