# Sets the priority of versions for apt: see apt_preferences(5).
define setting::apt_pin (
  String[1] $packages = '*',
  String[1] $pin = 'release *', # such as release a=bookworm-backports, version 1.18.*
  Integer $priority = 500,
  Enum[present, absent] $ensure = present,
  Pattern[/\A[\w-]+\z/] $file = $title,
) {
  file { "/etc/apt/preferences.d/${file}.pref":
    ensure  => $ensure,
    mode    => '0644',
    content => "Package: ${packages}\nPin: ${pin}\nPin-Priority: ${priority}\n",
  }
}
