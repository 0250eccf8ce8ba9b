# Records what Puppet makes of conversions:
#
#   ruby -Eutf-8 -I PUPPET/lib record_conversions.rb < cases > conversions.jsonl
#
# A line in is "new Type<TAB>arguments" for Type.new(arguments), "text<TAB>value"
# for the interpolation of a value, "calc<TAB>left op right", or a line that went
# out before. A line out has the arguments and the result as rich data, the
# inferred type of the result and its default form as a string, or that there
# was an error.
require 'puppet'
require 'json'
require 'tmpdir'

class Recorder
  def initialize(dir)
    Puppet.initialize_settings(['--confdir', dir, '--vardir', dir, '--logdest', '/dev/null'])
    Puppet[:strict] = :error
    @env = Puppet::Node::Environment.create(:production, [])
    @loaders = Puppet::Pops::Loaders.new(@env)
    @node = Puppet::Node.new('test.example.com', environment: @env)
  end

  def evaluate(code)
    Puppet.override(loaders: @loaders, current_environment: @env, rich_data: true) do
      scope = Puppet::Parser::Compiler.new(@node).topscope
      v = Puppet::Pops::Parser::EvaluatingParser.new.evaluate_string(scope, code, 'x.pp')
      { value: rich(v), type: Puppet::Pops::Types::TypeCalculator.infer(v).to_s,
        string: Puppet::Pops::Types::StringConverter.singleton.convert(v, :default) }
    end
  rescue StandardError, SystemStackError, NoMemoryError => e
    { error: e.message }
  end

  def rich(v)
    floats(Puppet::Pops::Serialization::ToDataConverter.convert(
      v, rich_data: true, symbol_as_string: false, local_reference: false, message_prefix: '', type_by_reference: true))
  end

  def floats(v)
    case v
    when Float then v.finite? ? v : { '__float' => v.to_s }
    when Array then v.map { |x| floats(x) }
    when Hash then v.transform_values { |x| floats(x) }
    else v
    end
  end

  def record(line)
    kind, args = line.split("\t", 2)
    out = { case: line }
    args = args.sub(/ (\S+) /, ', ') and out[:op] = $1 if kind == 'calc'
    input = evaluate("[#{args}]")
    return nil if input[:error]
    code = case kind
           when 'text' then "$v = #{args}\n\"${v}\""
           when 'calc' then line.split("\t", 2)[1]
           else "#{kind.sub('new ', '')}.new(#{args})"
           end
    result = evaluate(code)
    out[:args] = input[:value]
    result[:error] ? out.merge(error: true) : out.merge(result)
  end
end

Dir.mktmpdir do |dir|
  r = Recorder.new(dir)
  $stdin.each_line(chomp: true) do |line|
    line = JSON.parse(line)['case'] if line.start_with?('{')
    out = r.record(line) unless line.empty?
    # What is not in UTF-8 has no place in the file.
    puts((JSON.generate(out) rescue next)) if out
  end
end
