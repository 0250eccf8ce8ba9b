# Records what Puppet says of types and values.
#
#   ruby -I PUPPET/lib record.rb types.json | gzip -9n > types.json.gz
#
# The input has "aliases" (types of a module m, by name), "types" and "values"
# (expressions). A cell that Puppet has no answer for is x, or ! for a text.
require 'puppet'
require 'json'
require 'tmpdir'
require 'fileutils'

input = JSON.parse(File.read(ARGV[0]))
Dir.mktmpdir do |dir|
  FileUtils.mkdir_p("#{dir}/modules/m/types")
  input['aliases'].each do |name, body|
    File.write("#{dir}/modules/m/types/#{name.split('::').last.downcase}.pp", "type #{name} = #{body}\n")
  end
  Puppet.initialize_settings(['--confdir', "#{dir}/conf", '--vardir', "#{dir}/var", '--logdest', '/dev/null'])
  Puppet[:strict] = :error
  environment = Puppet::Node::Environment.create(:production, ["#{dir}/modules"])
  loaders = Puppet::Pops::Loaders.new(environment)
  Puppet.override(loaders: loaders, current_environment: environment, rich_data: true) do
    scope = Puppet::Parser::Compiler.new(Puppet::Node.new('test', environment: environment)).topscope
    evaluate = ->(source) { Puppet::Pops::Parser::EvaluatingParser.new.evaluate_string(scope, source, 'test.pp') }
    types = input['types'].map(&evaluate)
    values = input['values'].map(&evaluate)
    calculator = Puppet::Pops::Types::TypeCalculator.singleton
    bit = lambda do |&block|
      block.call ? '1' : '0'
    rescue StandardError, SystemStackError
      'x'
    end
    text = lambda do |&block|
      block.call.to_s
    rescue StandardError, SystemStackError
      '!'
    end
    commons = {}
    common = types.map do |a|
      types.map do |b|
        s = text.call { calculator.common_type(a, b) }
        commons[s] ||= commons.size
      end.join(' ')
    end
    puts JSON.generate(
      input.merge(
        'printed' => types.map { |t| text.call { t } },
        'generalized' => types.map { |t| text.call { t.generalize } },
        'normalized' => types.map { |t| text.call { t.normalize } },
        'detailed' => values.map { |v| text.call { calculator.infer_set(v) } },
        'reduced' => values.map { |v| text.call { calculator.infer(v) } },
        'general' => values.map { |v| text.call { calculator.infer(v).generalize } },
        'matches' => values.map { |v| types.map { |t| bit.call { t.instance?(v) } }.join },
        'assignable' => types.map { |a| types.map { |b| bit.call { b.assignable?(a) } }.join },
        'equal' => types.map { |a| types.map { |b| bit.call { a == b } }.join },
        'common' => common,
        'commons' => commons.keys
      )
    )
  end
end
