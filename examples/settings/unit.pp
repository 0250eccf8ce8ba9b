setting::unit { 'app.service':
  content => @(END),
    [Unit]
    Description=The application
    After=network-online.target
    Wants=network-online.target

    [Service]
    ExecStart=/usr/bin/python3 -m http.server 8080 --directory /srv
    DynamicUser=yes
    Restart=on-failure

    [Install]
    WantedBy=multi-user.target
    | END
}
