# confirm-corpus.rb CORPUS WORK [words of confirm-corpus.sh]: see there.
require 'json'
require 'fileutils'
require 'io/wait'

# fail_with says why nothing can be confirmed. Status 1 is for answers that differ.
def fail_with(why)
  warn "confirm-corpus: #{why}"
  exit 2
end

begin
  require 'puppet'
  require 'puppet/pops/pn' # or there are no syntax trees
rescue LoadError => e
  fail_with "this ruby does not find puppet: #{e.message}"
end

MADE_WITH = '8.11'.freeze
PATIENCE = Float(ENV.fetch('CONFIRM_TIMEOUT', '60')) # seconds for one answer
CORPUS, WORK, *WORDS = ARGV

# Puppet's settings as the corpus was made with, whatever the version's defaults are.
def settings(more = {})
  Puppet.initialize_settings(['--confdir', "#{WORK}/conf", '--vardir', "#{WORK}/var", '--environmentpath', "#{WORK}/environments"])
  { strict: :error, strict_variables: true }.merge(more).each { |name, value| Puppet[name] = value }
  Puppet::Util::Log.level = :info
end

def trusted(certname)
  host, _, domain = certname.partition('.')
  { 'authenticated' => 'remote', 'certname' => certname, 'hostname' => host, 'domain' => domain, 'extensions' => { 'pp_role' => 'web' }, 'external' => {} }
end

# JSON as the corpus has it: what JSON cannot write is named.
def plain(value)
  case value
  when Float then value.nan? || value.infinite? ? { '__float' => value.to_s } : value
  when Array then value.map { |x| plain(x) }
  when Hash then value.to_h { |k, x| [k, plain(x)] }
  when String then value.gsub(/#<([\w:]+):0x\h+/, '#<\\1:0xADDR') # an address in memory is another each time
  else value
  end
end

# place is where an error is, or the one that it was made of: the compiler says again what it caught.
def place(error)
  while error
    line = error.respond_to?(:line) ? error.line : nil
    column = error.respond_to?(:pos) ? error.pos : nil
    return { 'line' => line, 'column' => column }.compact if line || column
    error = error.cause
  end
  true
end

# What messages of sorts that are easily right for the wrong reason have in them: see kinds.txt.
SORTS = { 'unknown-function' => /Unknown function/, 'catalog-operation' => /only available when compiling a catalog/ }.freeze

# fault is an error as the corpus has it, with its sort. A message that says what is in the way, and where, names that
# place first, and the corpus has the first one.
def fault(error)
  at = place(error)
  first = error.message[/\(file: [^,()]*, line: (\d+)/, 1]
  at = { 'line' => first.to_i } if at != true && first && first.to_i != at['line']
  { 'error' => at, 'sort' => SORTS.find { |_, text| text.match?(error.message) }&.first }.compact
end

# evaluate answers one expression as tables.jsonl has it.
def evaluate(expr, facts)
  env = Puppet::Node::Environment.create(:production, ["#{CORPUS}/env/modules"])
  loaders = Puppet::Pops::Loaders.new(env)
  Puppet.override({ loaders: loaders, current_environment: env, rich_data: true }, 'confirm') do
    scope = Puppet::Parser::Compiler.new(Puppet::Node.new('oracle.example.com', environment: env)).topscope
    scope.set_facts(facts)
    scope.set_trusted(trusted('oracle.example.com'))
    Puppet.override(global_scope: scope) do
      parser = Puppet::Pops::Parser::EvaluatingParser.new
      program = parser.parse_string(expr, '/expression.pp')
      if program.respond_to?(:definitions)
        program.definitions.each { |d| loaders.instantiate_definition(d, loaders.public_environment_loader) if d.is_a?(Puppet::Pops::Model::FunctionDefinition) || d.is_a?(Puppet::Pops::Model::TypeAlias) }
      end
      value = parser.evaluate(scope, program)
      data = Puppet::Pops::Serialization::ToDataConverter.convert(value, rich_data: true, symbol_as_string: false, local_reference: false, type_by_reference: true)
      { 'value' => plain(data), 'type' => Puppet::Pops::Types::TypeCalculator.infer(value).to_s, 'string' => plain(Puppet::Pops::Types::StringConverter.singleton.convert(value, :default)) }
    end
  end
rescue Puppet::Error => e
  fault(e)
rescue StandardError, SystemStackError, LoadError => e
  { 'error' => true, 'error_class' => e.class.to_s }
end

# expression is evaluate in a process of its own: many are asked in one.
def expression(expr, facts)
  settings unless Puppet.settings.global_defaults_initialized?
  evaluate(expr, facts)
end

# A header line of a case says how to run it.
def headers(text)
  found = { 'settings' => {} }
  text.each_line do |line|
    break unless line.start_with?('#')
    key, value = line.sub(/^#\s*/, '').chomp.split(': ', 2)
    next unless value
    if key == 'setting'
      name, value = value.split('=', 2)
      found['settings'][name.to_sym] = { 'true' => true, 'false' => false }.fetch(value, value)
    else
      found[key] = value
    end
  end
  found
end

# environment makes a folder with the case as its site.pp.
def environment(text, hiera)
  dir = "#{WORK}/environments/production"
  FileUtils.rm_rf(dir)
  FileUtils.mkdir_p("#{dir}/manifests")
  FileUtils.ln_s(File.expand_path("#{CORPUS}/env/modules"), "#{dir}/modules")
  FileUtils.cp_r("#{CORPUS}/env/hiera/#{hiera}/.", dir) if hiera
  File.write("#{dir}/manifests/site.pp", text)
  dir
end

# catalog is what the corpus keeps of one.
def catalog_of(catalog, dir)
  data = JSON.parse(JSON.generate(plain(Puppet.override(rich_data: true) { catalog.filter(&:virtual?).to_data_hash })))
  data = data.slice('tags', 'resources', 'edges', 'classes')
  data['tags'].sort!
  data['resources'].each do |r|
    r['tags']&.sort!
    r['file'] = r['file'].sub(%r{\A.*/(?=modules/)}, '').delete_prefix("#{dir}/") if r['file']
  end
  data
end

# play answers one case as cases.jsonl has it. It runs in a process of its own: settings are global.
def play(name, facts)
  text = File.read("#{CORPUS}/cases/#{name}.pp")
  head = headers(text)
  settings(head['settings'])
  logs = []
  Puppet::Util::Log.newdestination(Puppet::Test::LogCollector.new(logs)) if defined?(Puppet::Test::LogCollector)
  dir = environment(text, head['hiera'])
  answer = {}
  begin
    parsed = Puppet::Pops::Parser::Parser.new.parse_file("#{dir}/manifests/site.pp")
    answer['ast'] = Puppet::Pops::Model::PNTransformer.transform(parsed.model).to_data
  rescue Puppet::Error => e
    return answer.update(fault(e))
  rescue StandardError
    answer['ast'] = nil # there are trees that Puppet cannot say this way
  end
  if head['parse'] == 'only'
    begin
      Puppet::Pops::Parser::EvaluatingParser.new.parse_file("#{dir}/manifests/site.pp")
    rescue Puppet::Error => e
      answer.update(fault(e))
    end
    return answer
  end
  certname = head['node'] || 'oracle.example.com'
  values = facts.merge(JSON.parse(head['facts'] || '{}'))
  env = Puppet::Node::Environment.create(:production, ["#{dir}/modules"], "#{dir}/manifests/site.pp")
  Puppet.override(current_environment: env, environments: Puppet::Environments::Directories.new("#{WORK}/environments", []), loaders: Puppet::Pops::Loaders.new(env), trusted_information: nil) do
    node = Puppet::Node.new(certname, environment: env, facts: Puppet::Node::Facts.new(certname, values))
    node.merge(values)
    node.trusted_data = trusted(certname)
    node.add_server_facts('serverversion' => 'X', 'servername' => 'server.example.com', 'serverip' => '192.0.2.9')
    catalog = Puppet::Parser::Compiler.compile(node)
    raise Puppet::Error, 'the catalog is missing' unless catalog
    answer['catalog'] = catalog_of(catalog, dir)
  end
  answer
rescue Puppet::Error => e
  answer.update(fault(e))
rescue StandardError, SystemStackError => e
  answer.update('error' => true, 'error_class' => e.class.to_s)
ensure
  answer['logs'] = logs.select { |l| %i[notice info].include?(l.level) }.map { |l| { 'level' => l.level.to_s, 'message' => l.message, 'source' => l.source } } if answer
end

# apart answers questions with a block, in a process of its own. It returns the answers by the questions' names. That
# the process dies, or is silent for too long, is no answer: it ends everything.
def apart(questions)
  read, write = IO.pipe
  pid = fork do
    read.close
    STDOUT.reopen('/dev/null')
    questions.each { |name, question| write.puts(JSON.generate('name' => name, 'answer' => yield(question))) }
    write.close
    exit!(0)
  rescue Exception => e # rubocop:disable Lint/RescueException: whatever it is, it is told
    warn "#{e.class}: #{e.message}"
    exit!(1)
  end
  write.close
  answers = collect(pid, read, questions.keys)
  _, status = Process.wait2(pid)
  missing = questions.keys - answers.keys
  fail_with "puppet ended (#{status}) at: #{missing.first}" unless missing.empty? && status.success?
  answers
end

# collect reads the answers as they come.
def collect(pid, read, names)
  answers = {}
  text = +''
  loop do
    unless read.wait_readable(PATIENCE)
      Process.kill(:KILL, pid)
      Process.wait(pid)
      fail_with "puppet gave no answer within #{PATIENCE.round} s (CONFIRM_TIMEOUT) to: #{(names - answers.keys).first}"
    end
    text << read.readpartial(1 << 16)
    while (line = text.slice!(/\A.*\n/))
      said = JSON.parse(line)
      answers[said['name']] = said['answer']
    end
  rescue EOFError
    return answers
  end
end

# same_error: a place that the corpus does not have is any.
def same_error(want, got)
  return want.nil? && got.nil? if want.nil? || got.nil?
  return true if want == true
  return false if got == true
  %w[line column].all? { |k| want[k].nil? || want[k] == got[k] }
end

# same: 1 is not 1.0, and the order of keys counts.
def same(want, got) = JSON.generate(want) == JSON.generate(got)

# first_difference goes into arrays and hashes as far as they are alike.
def first_difference(want, got, path = '')
  if want.is_a?(Hash) && got.is_a?(Hash)
    key = (want.keys | got.keys).find { |k| !same(want[k], got[k]) }
    return first_difference(want[key], got[key], "#{path}.#{key}") if key
  elsif want.is_a?(Array) && got.is_a?(Array) && want.length == got.length
    i = want.each_index.find { |n| !same(want[n], got[n]) }
    return first_difference(want[i], got[i], "#{path}[#{i}]") if i
  end
  [path, want, got]
end

def short(value)
  text = value.is_a?(String) ? value : JSON.generate(value)
  text.length > 300 ? "#{text[0, 300]}…" : text
end

# A Report tells what differs.
class Report
  attr_reader :bad

  def initialize
    @bad = 0
    @passed_over = 0
    @told = 0
    @version = Puppet.version
    @known = {}
    File.foreach("#{CORPUS}/versions.txt", chomp: true) do |line|
      next if line.start_with?('#') || line.empty?
      version, name, why = line.split("\t", 3)
      @known[name] = why if @version.start_with?("#{version}.")
    end
  end

  # passes_over tells what could not be compared.
  def passes_over(name, what, why)
    @passed_over += 1
    puts "#{name.inspect[1..-2]}: not compared: #{what}: #{why}"
  end

  def differs(name, parts)
    why = @known.delete(name)
    why ? @told += 1 : @bad += 1
    puts "#{name.inspect[1..-2]}: #{why ? "differs in this version: #{why}" : 'differs'}"
    parts.each do |what, want, got|
      path, want, got = first_difference(want, got)
      what += path
      puts "  #{what}: corpus #{short(want)}", "  #{' ' * what.length}  puppet #{short(got)}"
    end
  end

  def close(asked, all)
    @known.each_key { |name| puts "#{name.inspect[1..-2]}: stands in versions.txt, and does not differ"; @bad += 1 } if all
    puts "puppet #{@version} (the corpus is of #{MADE_WITH}): #{asked} asked, #{@bad} answered otherwise, #{@told} more that are known to differ in this version; #{@passed_over} parts not compared"
    puts 'never compared: the order of application, warnings and other problems (cases), matrix.json' if all
    @bad.zero? ? 0 : 1
  end
end

# Puppet gives its messages to whatever has <<.
module Puppet
  module Test
    class LogCollector
      def initialize(list) = @list = list
      def <<(message) = @list << message
    end
  end
end
Puppet::Util::Log.newdesttype(:confirm) do
  match 'Puppet::Test::LogCollector'
  def initialize(messages) = @messages = messages
  def handle(message) = @messages << message
end

def tables
  File.foreach("#{CORPUS}/expected/tables.jsonl").map { |line| JSON.parse(line) }
end

def add(expr, table, facts)
  fail_with 'the corpus has this expression' if tables.any? { |t| t['expr'] == expr }
  answer = apart(expr => expr) { |x| expression(x, facts) }[expr]
  fail_with 'cannot be asked: this puppet lacks a library of Ruby for it' if answer['error_class'] == 'LoadError'
  entry = { 'table' => table, 'expr' => expr }.merge(answer.reject { |k, _| k == 'sort' })
  entry['puppet'] = Puppet.version unless Puppet.version.start_with?("#{MADE_WITH}.")
  File.open("#{CORPUS}/expected/tables.jsonl", 'a') { |f| f.puts JSON.generate(entry) }
  puts JSON.generate(entry)
  0
end

# kinds of our errors, by expression or case.
def kinds
  lines = File.readlines("#{CORPUS}/kinds.txt", chomp: true).reject { |line| line.start_with?('#') }
  lines.to_h { |line| line.split("\t").first(2) }
end

# sorts compares the sort of an error where ours is of one that is easily right for the wrong reason.
def sorts(kind, got)
  return [] unless SORTS.key?(kind) && got['sort'] != kind
  [['sort of the error', kind, got['sort'] || 'another']]
end

def confirm_tables(names, facts, ours, report)
  list = tables.select { |t| names.empty? || names.include?(t['table']) }
  answers = list.map { |t| t['expr'] }.uniq.each_slice(200).map { |some| apart(some.to_h { |x| [x, x] }) { |x| expression(x, facts) } }.reduce({}, :merge)
  list.each do |want|
    got = answers.fetch(want['expr'])
    if got['error_class'] == 'LoadError'
      report.passes_over(want['expr'], 'all', 'this puppet lacks a library of Ruby for it')
      next
    end
    parts = []
    parts << ['error', want['error'] || 'none', got['error'] || 'none'] unless same_error(want['error'], got['error'])
    %w[value type string].each { |k| parts << [k, want[k], got[k]] if !same(want[k], got[k]) && !want['error'] && !got['error'] }
    parts.concat(sorts(ours[want['expr']], got)) if want['error']
    report.differs(want['expr'], parts) unless parts.empty?
  end
  list.length
end

def confirm_case(want, facts, ours, report)
  name = want['case']
  got = apart(name => name) { |x| play(x, facts) }[name]
  error = want['error'] || want['parse_error']
  parts = []
  parts << ['error', error || 'none', got['error'] || 'none'] unless same_error(error, got['error'])
  parts.concat(sorts(ours[name], got)) if error
  report.passes_over(name, 'the syntax tree', 'the corpus has it in another form') if want['ast_tree']
  %w[ast catalog].each do |k|
    next unless want[k]
    if got[k]
      parts << [k, want[k], got[k]] unless same(want[k], got[k])
    elsif same_error(error, got['error'])
      report.passes_over(name, k, 'this puppet gives none')
    end
  end
  parts << ['logs', want['logs'] || [], got['logs']] unless same(want['logs'] || [], got['logs'])
  report.differs(name, parts) unless parts.empty?
end

def confirm(names, facts)
  report = Report.new
  ours = kinds
  asked = confirm_tables(names, facts, ours, report)
  File.foreach("#{CORPUS}/expected/cases.jsonl") do |line|
    want = JSON.parse(line)
    next unless names.empty? || names.include?(want['case'])
    asked += 1
    confirm_case(want, facts, ours, report)
  end
  fail_with "the corpus has nothing named #{names.join(', ')}" if asked.zero?
  report.close(asked, names.empty?)
end

def main
  facts = JSON.parse(File.read("#{CORPUS}/facts.json"))
  table = 'added'
  if (at = WORDS.index('--table'))
    table = WORDS.slice!(at, 2)[1]
    fail_with '--table takes a name' unless table
  end
  case WORDS[0]
  when '--version'
    puts "puppet #{Puppet.version}, corpus #{MADE_WITH}"
    0
  when '--add'
    fail_with '--add takes one expression' unless WORDS.length == 2
    add(WORDS[1], table, facts)
  when /\A-/
    fail_with "unknown option #{WORDS[0]}"
  else
    confirm(WORDS, facts)
  end
rescue StandardError => e
  fail_with e.full_message(highlight: false)
end

exit main
