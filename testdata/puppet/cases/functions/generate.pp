notice(generate('/bin/echo', '-n', 'gen'))
