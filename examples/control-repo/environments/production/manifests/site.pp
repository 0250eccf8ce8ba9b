include base

node /^web\d+/ {
  include web
}

node default {}
