# confirm-corpus.rb CORPUS WORK [words of confirm-corpus.sh]: see there.
require 'json'
require 'fileutils'
require 'puppet'

MADE_WITH = '8.11'.freeze
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

def place(error)
  line = error.respond_to?(:line) ? error.line : nil
  column = error.respond_to?(:pos) ? error.pos : nil
  line || column ? { 'line' => line, 'column' => column }.compact : true
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
  { 'error' => place(e) }
rescue StandardError, SystemStackError, LoadError => e
  { 'error' => true, 'error_class' => e.class.to_s }
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
    return { 'error' => place(e) }
  rescue StandardError
    answer['ast'] = nil # there are trees that Puppet cannot say this way
  end
  if head['parse'] == 'only'
    begin
      Puppet::Pops::Parser::EvaluatingParser.new.parse_file("#{dir}/manifests/site.pp")
    rescue Puppet::Error => e
      answer['error'] = place(e)
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
    raise Puppet::Error, 'there is no catalog' unless catalog
    answer['catalog'] = catalog_of(catalog, dir)
  end
  answer
rescue Puppet::Error => e
  answer.merge('error' => place(e))
rescue StandardError, SystemStackError => e
  answer.merge('error' => true, 'class' => e.class.to_s)
ensure
  answer['logs'] = logs.select { |l| %i[notice info].include?(l.level) }.map { |l| { 'level' => l.level.to_s, 'message' => l.message, 'source' => l.source } } if answer
end

# apart runs a block in a process of its own and returns what it answers.
def apart
  read, write = IO.pipe
  pid = fork do
    read.close
    STDOUT.reopen('/dev/null')
    write.write(JSON.generate(yield))
    write.close
    exit!(0)
  end
  write.close
  text = read.read
  Process.wait(pid)
  text.empty? ? { 'error' => true, 'class' => 'the process died' } : JSON.parse(text)
end

# same_error: a place that the corpus does not have is any.
def same_error(want, got)
  return want.nil? && got.nil? if want.nil? || got.nil?
  return true if want == true || got == true
  %w[line column].all? { |k| want[k].nil? || want[k] == got[k] }
end

# first_difference goes into arrays and hashes as far as they are alike.
def first_difference(want, got, path = '')
  if want.is_a?(Hash) && got.is_a?(Hash)
    key = (want.keys | got.keys).find { |k| want[k] != got[k] }
    return first_difference(want[key], got[key], "#{path}.#{key}") if key
  elsif want.is_a?(Array) && got.is_a?(Array) && want.length == got.length
    i = want.each_index.find { |n| want[n] != got[n] }
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
    @told = 0
    @version = Puppet.version
    @known = {}
    File.foreach("#{CORPUS}/versions.txt", chomp: true) do |line|
      next if line.start_with?('#') || line.empty?
      version, name, why = line.split("\t", 3)
      @known[name] = why if @version.start_with?("#{version}.")
    end
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
    puts "puppet #{@version} (the corpus is of #{MADE_WITH}): #{asked} asked, #{@bad} answered otherwise, #{@told} more that are known to differ in this version"
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
  if tables.any? { |t| t['expr'] == expr }
    warn 'confirm-corpus: the corpus has this expression'
    return 2
  end
  entry = { 'table' => table, 'expr' => expr }.merge(apart { settings; evaluate(expr, facts) })
  entry['puppet'] = Puppet.version unless Puppet.version.start_with?(MADE_WITH)
  File.open("#{CORPUS}/expected/tables.jsonl", 'a') { |f| f.puts JSON.generate(entry) }
  puts JSON.generate(entry)
  0
end

def confirm(names, facts)
  report = Report.new
  asked = 0
  list = tables.select { |t| names.empty? || names.include?(t['table']) }
  answers = list.each_slice(200).flat_map { |some| apart { settings; some.map { |t| evaluate(t['expr'], facts) } } }
  list.zip(answers) do |want, got|
    if got['error_class'] == 'LoadError'
      puts "#{want['expr']}: cannot be asked: this puppet lacks a library of Ruby for it"
      next
    end
    asked += 1
    parts = []
    parts << ['error', want['error'] || 'none', got['error'] || 'none'] unless same_error(want['error'], got['error'])
    %w[value type string].each { |k| parts << [k, want[k], got[k]] if want[k] != got[k] && !want['error'] && !got['error'] }
    report.differs(want['expr'], parts) unless parts.empty?
  end
  File.foreach("#{CORPUS}/expected/cases.jsonl") do |line|
    want = JSON.parse(line)
    next unless names.empty? || names.include?(want['case'])
    asked += 1
    got = apart { play(want['case'], facts) }
    parts = []
    error = want['error'] || want['parse_error']
    parts << ['error', error || 'none', got['error'] || 'none'] unless same_error(error, got['error'])
    %w[ast catalog].each { |k| parts << [k, want[k], got[k]] if want[k] && got[k] && want[k] != got[k] }
    parts << ['logs', want['logs'], got['logs']] if !error && (want['logs'] || []) != (got['logs'] || [])
    report.differs(want['case'], parts) unless parts.empty?
  end
  if asked.zero?
    warn "confirm-corpus: the corpus has nothing named #{names.join(', ')}"
    return 2
  end
  report.close(asked, names.empty?)
end

facts = JSON.parse(File.read("#{CORPUS}/facts.json"))
table = 'added'
if (at = WORDS.index('--table'))
  table = WORDS.slice!(at, 2)[1]
end
case WORDS[0]
when '--version'
  puts "puppet #{Puppet.version}, corpus #{MADE_WITH}"
  exit 0
when '--add'
  abort 'confirm-corpus: --add takes one expression' unless WORDS.length == 2
  exit add(WORDS[1], table, facts)
when /\A-/
  warn "confirm-corpus: unknown option #{WORDS[0]}"
  exit 2
else
  exit confirm(WORDS, facts)
end
