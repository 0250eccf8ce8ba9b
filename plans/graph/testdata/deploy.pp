# Each kind of node that a line of steps can have, and decisions.
plan site::deploy(TargetSpec $targets, String[1] $version, String $mode = 'fast') {
  $answer = prompt('Go on?')
  if $answer != 'yes' {
    return('nothing was done')
  }
  upload_file("site/app-${version}.tgz", '/tmp/app.tgz', $targets)
  $results = run_command('tar -C /srv -xf /tmp/app.tgz && systemctl restart app', $targets,
    'restart the app', '_run_as' => 'root', '_serial' => [1, '25%'], '_pause' => 10)
  if $results.ok {
    out::message("on ${results.count} targets")
  } elsif $results.error_set.count > 3 {
    fail_plan('too many targets are down', 'site/down')
  } else {
    run_task('service', $results.error_set.targets, 'name' => 'app', 'action' => 'restart', '_catch_errors' => true)
  }
  case $mode {
    'fast': { }
    'slow', 'slower': { ctrl::sleep(60) }
    default: { fail_plan("there is no mode ${mode}") }
  }
  apply($targets, '_noop' => true) {
    include profile::web
  }
  run_plan('site::report', 'targets' => $targets)
  return($results)
}
