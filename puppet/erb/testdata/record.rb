# record.rb: renders templates.txt with an installed Puppet, and writes what it answers to answers.jsonl.
#
#   ruby record.rb
#
# In a template, ⏎ stands for the end of a line.
require 'json'
require 'puppet'

Dir.chdir(__dir__)
$VERBOSE = nil
Puppet.initialize_settings(['--confdir', '/nonexistent', '--vardir', '/nonexistent', '--strict', 'error'])
environment = Puppet::Node::Environment.create(:production, [])
Puppet.override(current_environment: environment, root_environment: environment) do
  File.open('answers.jsonl', 'w') do |out|
    File.readlines('templates.txt', chomp: true).each do |line|
      text = line.gsub('⏎', "\n")
      compiler = Puppet::Parser::Compiler.new(Puppet::Node.new('node', environment: environment))
      scope = compiler.topscope
      JSON.parse(File.read('vars.json')).each { |name, value| scope[name] = value }
      wrapper = Class.new(Puppet::Parser::TemplateWrapper).new(scope)
      answer = { template: text }
      begin
        Puppet.override(global_scope: scope, loaders: compiler.loaders) { answer[:text] = wrapper.result(text) }
      rescue StandardError, SyntaxError => e
        answer[:error] = e.class.to_s
      end
      out.puts(JSON.generate(answer))
    end
  end
end
