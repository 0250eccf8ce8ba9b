# Everything that has a frame.
plan site::frames(TargetSpec $targets) {
  $list = get_targets($targets)
  $slow = background('slow') || {
    run_task('backup', $targets)
  }
  $r = parallelize($list) |$t| {
    run_task('reboot', $t)
    if !run_command('uptime', $t, '_catch_errors' => true).ok { return(undef) }
    wait_until_available($t, 'wait_time' => 300)
  }
  $error = catch_errors(['bolt/run-failure']) || {
    run_task('facts', $targets)
  }
  wait($slow)
  ctrl::do_until('limit' => 10, 'interval' => 5) || {
    run_command('curl -fs localhost/health', $targets, '_catch_errors' => true).ok
  }
  without_default_logging() || { run_command('hidden', $targets) }
  background() || { run_command('aside', $targets) }
  $list.each |$t| {
    if $t.name == 'x' { next() }
    run_command("echo ${t.name}", $t)
  }
}
