# Records anew what an installed Puppet 8 makes of the texts in puppet.jsonl:
#
#   ruby record.rb < puppet.jsonl > new.jsonl
#
# A text on which Puppet itself breaks (not with an error of its language) is
# left out.
require 'json'
require 'puppet'
require 'puppet/pops/pn'

Puppet.initialize_settings(['--logdest', '/dev/null'])
M = Puppet::Pops::Model
SAME = { 'KeyedEntry' => 'Entry', 'SelectorEntry' => 'Entry', 'AttributeOperation' => 'Attr', 'AttributesOperation' => 'Attr' }
%w[Arithmetic Comparison Match In And Or].each { |n| SAME["#{n}Expression"] = 'Binary' }
ONLY_PUPPET = %w[QualifiedName BlockExpression Program Nop NamedAccessExpression VirtualQuery ExportedQuery
                 EppExpression ApplyBlockExpression ApplyExpression]

def places(body)
  list = []
  note = lambda do |o|
    name = o.class.name.split('::').last
    list << "#{SAME[name] || name}:#{o.offset}" if o.is_a?(M::Positioned) && !ONLY_PUPPET.include?(name)
  end
  note.call(body)
  body._pcore_all_contents([]) { |o| note.call(o) }
  list.sort.join(' ')
end

STDIN.each_line do |line|
  c = JSON.parse(line)
  out = c.slice('src', 'epp', 'tasks')
  Puppet[:tasks] = !!c['tasks']
  parser = c['epp'] ? Puppet::Pops::Parser::EppParser.new : Puppet::Pops::Parser::Parser.new
  begin
    program = parser.parse_string(c['src'], 'x.pp').model
    out['pn'] = M::PNTransformer.transform(program).to_s rescue nil
    tree = M::ModelTreeDumper.new.dump(program)
    out['tree'] = tree unless tree.include?('ApplyExpression')
    out['at'] = places(program.body)
  rescue Puppet::ParseError => e
    out['error'] = e.line ? [e.line, e.pos] : []
  rescue StandardError
    next
  end
  puts JSON.generate(out.compact)
end
