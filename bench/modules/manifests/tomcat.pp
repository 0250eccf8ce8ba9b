tomcat::install { '/opt/tomcat':
  source_url => 'https://archive.example.com/apache-tomcat-9.0.80.tar.gz',
}
tomcat::instance { 'default':
  catalina_home => '/opt/tomcat',
}
tomcat::config::server::connector { 'http':
  catalina_base => '/opt/tomcat',
  port          => '8081',
  protocol      => 'HTTP/1.1',
}
