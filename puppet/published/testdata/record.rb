# Prints a line of JSON for each expression of expressions.txt: what the real
# functions return. Usage: ruby record.rb MODULEPATH < expressions.txt
require 'puppet'
require 'puppet_pal'
require 'json'
require 'open3'

Puppet.initialize_settings(['--strict', 'error']) unless Puppet.settings.global_defaults_initialized?
Puppet::Util::Log.level = :err
# Puppet forks, and the fork would also read the expressions.
def (Puppet::Util::Execution).execute(command, **)
  out, status = Open3.capture2(*command.flatten)
  status.success? ? out : raise("#{command} failed")
end

facts = File.read(File.join(__dir__, 'facts.json'))
$stdin.readlines(chomp: true).each do |expr|
  answer = { 'expr' => expr }
  begin
    Puppet::Pal.in_tmp_environment('recorded', modulepath: [ARGV[0]], facts: JSON.parse(facts)) do |pal|
      pal.with_catalog_compiler do |c|
        v = c.evaluate_string(expr, 'test.pp')
        types = Puppet::Pops::Types::TypeCalculator.singleton
        answer['type'] = types.infer(v).to_s
        answer['value'] = Puppet::Pops::Serialization::ToDataConverter.convert(v, rich_data: true)
        answer['string'] = Puppet::Pops::Types::StringConverter.convert(v, '%p')
      end
    end
  rescue Exception => e # a module raises Exception itself
    answer = { 'expr' => expr, 'error' => true }
    warn "#{expr}\n  #{e.message}"
  end
  puts JSON.generate(answer)
end
