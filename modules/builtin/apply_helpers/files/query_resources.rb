# Prints the state of resources as JSON: {"resources": [...]}, each as Puppet has
# it as data. Parameters come on standard input.
require 'json'

# What types and providers print is no part of the result.
RESULT = $stdout.dup
$stdout.reopen($stderr)

def finish(result, status)
  RESULT.puts(JSON.generate(result))
  exit(status)
end

def failed(message)
  finish({ '_error' => { 'kind' => 'puppetlabs.tasks/task-error', 'msg' => message, 'details' => {} } }, 1)
end

parameters = JSON.parse($stdin.read)
begin
  require 'puppet'
rescue LoadError => e
  failed("Puppet is not installed on the target for #{RbConfig.ruby}, which should have it: #{e.message}")
end

# Types and providers of modules that came along.
$LOAD_PATH.unshift(*Dir.glob(File.join(parameters['_installdir'], '*', 'lib')).sort)

begin
  Puppet.initialize_settings([])
rescue StandardError => e
  failed("Puppet's settings on the target are not right: #{e.message}")
end

# Without a title, all resources of a type.
def look_up(type, title)
  return Puppet::Resource.indirection.search(type) unless title
  [Puppet::Resource.indirection.find("#{type}/#{title}")]
end

found = parameters['resources'].flat_map do |name|
  type, title = name.match(/\A(\w+)(?:\[(.+)\])?\z/m)&.captures
  failed("#{name} is not a resource type or a resource") unless type
  begin
    look_up(type, title)
  rescue StandardError, ScriptError => e
    failed("#{name}: #{e.message} (#{e.class})")
  end
end
finish({ 'resources' => found.map(&:to_data_hash) }, 0)
