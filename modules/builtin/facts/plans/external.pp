# @summary
#   Run external facts, which are scripts of this machine, on targets and keep
#   what they print in the inventory.
#
# A script prints YAML or JSON, or lines of the form "key=value".
#
# @param path The folder with the scripts; hidden files in it are not run.
# @param targets The targets to collect facts of.
# @return The targets, which have the facts.
#
# @example Facts that are in a module
#   run_plan('facts::external', $targets, 'path' => file::join(module_directory('mine'), 'facts.d'))
plan facts::external (
  String     $path,
  TargetSpec $targets,
) {
  $all = get_targets($targets)
  $scripts = dir::children($path).filter |$name| { $name !~ /\A\./ }

  $scripts.each |$script| {
    run_script(file::join($path, $script), $all).each |$result| {
      $text = $result['stdout']
      $parsed = catch_errors() || { parseyaml($text) }
      $facts = if $parsed =~ Hash {
        $parsed
      } else {
        $pairs = $text.split(/\n/).map |$line| {
          $parts = $line.match(/\A([^=]+)=(.+)\z/)
          unless $parts {
            fail_plan("${script} prints no external fact on ${result.target.name}: expected YAML, JSON or lines of the form key=value, got '${line}'")
          }
          $parts[1, 2]
        }
        Hash($pairs)
      }
      add_facts($result.target, $facts)
    }
  }

  return $all
}
