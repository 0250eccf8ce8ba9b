# The name of a release. It is part of paths and commands, so it has no other characters.
type Shop::Version = Pattern[/\A\w[\w.-]*\z/]
