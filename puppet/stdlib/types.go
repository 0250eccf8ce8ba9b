package stdlib

import (
	"context"
	"strings"
	"sync"

	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// Loader returns a Loader that adds the types Stdlib::* to those of next, which
// can be nil. Types of next override them.
func Loader(next eval.Loader) eval.Loader {
	return &loader{next: next, types: sync.OnceValues(definitions)}
}

type loader struct {
	next  eval.Loader
	types func() (map[string]*eval.Definition, error) // by name
}

// Load implements eval.Loader.
func (l *loader) Load(ctx context.Context, kind eval.Kind, name string) (*eval.Definition, error) {
	if l.next != nil {
		if d, err := l.next.Load(ctx, kind, name); d != nil || err != nil {
			return d, err
		}
	}
	if kind != eval.KindType || !strings.HasPrefix(name, "stdlib::") {
		return nil, nil
	}
	types, err := l.types()
	return types[name], err
}

// definitions returns the parsed types.
func definitions() (map[string]*eval.Definition, error) {
	p, err := syntax.Parse(syntax.NewFile("stdlib", Types()), syntax.Options{})
	if err != nil {
		return nil, err
	}
	types := map[string]*eval.Definition{}
	for _, d := range eval.Definitions(p, "stdlib") {
		types[d.Name] = d
	}
	return types, nil
}

// Types returns the definitions of the types Stdlib::* in the Puppet language.
func Types() string {
	const octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	return strings.NewReplacer(
		"{IPv4}", octet+`(?:\.`+octet+`){3}`,
		"{LENGTH4}", `\/(?:3[0-2]|[12]?[0-9])`,
		"{LENGTH6}", `(?:\/(?:1(?:[01][0-9]|2[0-8])|[1-9][0-9]|[0-9]))?`,
		"{ANYLENGTH6}", `\/(?:1[01][0-9]|12[0-8]|[1-9]?[0-9])?`, // can be empty
		"{ZONE}", `(?:%.+)?`,
		"{GROUP}", `[[:xdigit:]]{1,4}`,
		"{LABEL}", `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`,
		"{SHORT}", `[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`,
		"{CLAUSE}", `(?:[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+|[-+=][0-7]+)`,
		"{TICK}", "`",
	).Replace(source)
}

// source has the types. Words in braces are replaced by parts that occur often.
//
// Differs from Puppet: Stdlib::IP::Address::V6::CIDR does not have the forms
// that its pattern allows by mistake ("::250.250.250.250/96", "::1s/64").
const source = `
# Paths.
type Stdlib::Absolutepath = Variant[Stdlib::Windowspath, Stdlib::Unixpath]
type Stdlib::Unixpath = Pattern[/\A\/(?:[^\n\/\0]+\/*)*\z/]
type Stdlib::Windowspath = Pattern[/\A(?:[a-zA-Z]:[\\\/]|[\\\/]{2}[^\\\/]+[\\\/][^\\\/]+|[\\\/]{2}\?[\\\/][^\\\/]+).*\z/]
type Stdlib::Filemode = Pattern[/\A(?:[0-7]{1,4}|{CLAUSE}(?:,{CLAUSE})*)\z/]
type Stdlib::Filesource = Variant[
  Stdlib::Absolutepath,
  Stdlib::HTTPUrl,
  Pattern[/\Afile:\/\/\/(?:[^\n\/\0]+\/?)+\z/, /\Apuppet:\/\/(?:(?:[\w-]+\.?)+)?\/(?:[^\n\/\0]+\/?)+\z/],
]

# Addresses of the web and of object stores.
type Stdlib::HTTPUrl = Pattern[/\A(?i:https?:\/\/).*\z/]
type Stdlib::HTTPSUrl = Pattern[/\A(?i:https:\/\/).*\z/]
type Stdlib::ObjectStore = Variant[Stdlib::ObjectStore::GSUri, Stdlib::ObjectStore::S3Uri]
type Stdlib::ObjectStore::GSUri = Pattern[/\Ags:\/\/.*\z/]
type Stdlib::ObjectStore::S3Uri = Pattern[/\As3:\/\/.*\z/]

# HTTP.
type Stdlib::Http::Status = Integer[100, 599]
type Stdlib::HttpStatus = Stdlib::Http::Status
type Stdlib::Http::Method = Enum[
  'ACL', 'BASELINE-CONTROL', 'BIND', 'CHECKIN', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'LABEL', 'LINK', 'LOCK', 'MERGE',
  'MKACTIVITY', 'MKCALENDAR', 'MKCOL', 'MKREDIRECTREF', 'MKWORKSPACE', 'MOVE', 'OPTIONS', 'ORDERPATCH', 'PATCH', 'POST', 'PRI', 'PROPFIND',
  'PROPPATCH', 'PUT', 'REBIND', 'REPORT', 'SEARCH', 'TRACE', 'UNBIND', 'UNCHECKOUT', 'UNLINK', 'UNLOCK', 'UPDATE', 'UPDATEREDIRECTREF',
  'VERSION-CONTROL',
]

# Names and addresses of machines.
type Stdlib::Host = Variant[Stdlib::Fqdn, Stdlib::IP::Address]
type Stdlib::Fqdn = Pattern[/\A{LABEL}(?:\.{LABEL})*\z/]
type Stdlib::Dns::Zone = Pattern[/\A(?:(?:{LABEL}\.)+|\.)\z/]
type Stdlib::Email = Pattern[/\A[a-zA-Z0-9.!#$%&'*+\/=?^_{TICK}{|}~-]+@{SHORT}(?:\.{SHORT})*\z/]
type Stdlib::MAC = Pattern[/\A(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\z/, /\A(?:[0-9A-Fa-f]{2}[:-]){19}[0-9A-Fa-f]{2}\z/]

type Stdlib::Port = Integer[0, 65535]
type Stdlib::Port::Privileged = Integer[1, 1023]
type Stdlib::Port::Unprivileged = Integer[1024, 65535]
type Stdlib::Port::User = Integer[1024, 49151]
type Stdlib::Port::Registered = Stdlib::Port::User
type Stdlib::Port::Dynamic = Integer[49152, 65535]
type Stdlib::Port::Ephemeral = Stdlib::Port::Dynamic

type Stdlib::IP::Address = Variant[Stdlib::IP::Address::V4, Stdlib::IP::Address::V6]
type Stdlib::IP::Address::CIDR = Variant[Stdlib::IP::Address::V4::CIDR, Stdlib::IP::Address::V6::CIDR]
type Stdlib::IP::Address::Nosubnet = Variant[Stdlib::IP::Address::V4::Nosubnet, Stdlib::IP::Address::V6::Nosubnet]
type Stdlib::IP::Address::V4 = Variant[Stdlib::IP::Address::V4::CIDR, Stdlib::IP::Address::V4::Nosubnet]
type Stdlib::IP::Address::V4::CIDR = Pattern[/\A{IPv4}{LENGTH4}\z/]
type Stdlib::IP::Address::V4::Nosubnet = Pattern[/\A{IPv4}\z/]
type Stdlib::IP::Address::V6 = Variant[
  Stdlib::IP::Address::V6::Full,
  Stdlib::IP::Address::V6::Compressed,
  Stdlib::IP::Address::V6::Alternative,
  Stdlib::IP::Address::V6::Nosubnet,
]
type Stdlib::IP::Address::V6::Full = Pattern[/\A{GROUP}(?::{GROUP}){7}{LENGTH6}\z/]
type Stdlib::IP::Address::V6::Compressed = Pattern[
  /\A:(?::|(?::{GROUP}){1,7}){LENGTH6}\z/,
  /\A(?:{GROUP}:)(?::|(?::{GROUP}){1,6}){LENGTH6}\z/,
  /\A(?:{GROUP}:){2}(?::|(?::{GROUP}){1,5}){LENGTH6}\z/,
  /\A(?:{GROUP}:){3}(?::|(?::{GROUP}){1,4}){LENGTH6}\z/,
  /\A(?:{GROUP}:){4}(?::|(?::{GROUP}){1,3}){LENGTH6}\z/,
  /\A(?:{GROUP}:){5}(?::|(?::{GROUP}){1,2}){LENGTH6}\z/,
  /\A(?:{GROUP}:){6}(?::|:{GROUP}){LENGTH6}\z/,
  /\A(?:{GROUP}:){7}:{LENGTH6}\z/,
]
type Stdlib::IP::Address::V6::Alternative = Pattern[
  /\A(?:{GROUP}:){6}{IPv4}{LENGTH6}\z/,
  /\A(?:{GROUP}:){5}:{IPv4}{LENGTH6}\z/,
  /\A(?:{GROUP}:){4}(?::{GROUP})?:{IPv4}{LENGTH6}\z/,
  /\A(?:{GROUP}:){3}(?::{GROUP}){0,2}:{IPv4}{LENGTH6}\z/,
  /\A(?:{GROUP}:){2}(?::{GROUP}){0,3}:{IPv4}{LENGTH6}\z/,
  /\A(?:{GROUP}:)(?::{GROUP}){0,4}:{IPv4}{LENGTH6}\z/,
  /\A:(?::{GROUP}){0,5}:{IPv4}{LENGTH6}\z/,
]
type Stdlib::IP::Address::V6::CIDR = Pattern[
  /\A(?:{GROUP}:){7}(?:{GROUP}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:){6}(?::{GROUP}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:){5}(?:(?::{GROUP}){1,2}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:){4}(?:(?::{GROUP}){1,3}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:){3}(?:(?::{GROUP}){1,4}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:){2}(?:(?::{GROUP}){1,5}|:){ZONE}{ANYLENGTH6}\z/,
  /\A(?:{GROUP}:)(?:(?::{GROUP}){1,6}|:){ZONE}{ANYLENGTH6}\z/,
  /\A:(?:(?::{GROUP}){1,7}|:){ZONE}{ANYLENGTH6}\z/,
]
type Stdlib::IP::Address::V6::Nosubnet = Variant[
  Stdlib::IP::Address::V6::Nosubnet::Full,
  Stdlib::IP::Address::V6::Nosubnet::Compressed,
  Stdlib::IP::Address::V6::Nosubnet::Alternative,
]
type Stdlib::IP::Address::V6::Nosubnet::Full = Pattern[/\A{GROUP}(?::{GROUP}){7}\z/]
type Stdlib::IP::Address::V6::Nosubnet::Compressed = Pattern[
  /\A:(?::|(?::{GROUP}){1,7})\z/,
  /\A(?:{GROUP}:)(?::|(?::{GROUP}){1,6})\z/,
  /\A(?:{GROUP}:){2}(?::|(?::{GROUP}){1,5})\z/,
  /\A(?:{GROUP}:){3}(?::|(?::{GROUP}){1,4})\z/,
  /\A(?:{GROUP}:){4}(?::|(?::{GROUP}){1,3})\z/,
  /\A(?:{GROUP}:){5}(?::|(?::{GROUP}){1,2})\z/,
  /\A(?:{GROUP}:){6}(?::|:{GROUP})\z/,
  /\A(?:{GROUP}:){7}:\z/,
]
type Stdlib::IP::Address::V6::Nosubnet::Alternative = Pattern[
  /\A(?:{GROUP}:){6}{IPv4}\z/,
  /\A(?:{GROUP}:){5}:{IPv4}\z/,
  /\A(?:{GROUP}:){4}(?::{GROUP})?:{IPv4}\z/,
  /\A(?:{GROUP}:){3}(?::{GROUP}){0,2}:{IPv4}\z/,
  /\A(?:{GROUP}:){2}(?::{GROUP}){0,3}:{IPv4}\z/,
  /\A(?:{GROUP}:)(?::{GROUP}){0,4}:{IPv4}\z/,
  /\A:(?::{GROUP}){0,5}:{IPv4}\z/,
]

# What attributes of resources can be.
type Stdlib::Ensure::File = Enum['present', 'file', 'directory', 'link', 'absent']
type Stdlib::Ensure::File::Directory = Enum['directory', 'absent']
type Stdlib::Ensure::File::File = Enum['file', 'absent']
type Stdlib::Ensure::File::Link = Enum['link', 'absent']
type Stdlib::Ensure::Package = Variant[Enum['present', 'absent', 'purged', 'disabled', 'installed', 'latest'], String[1]]
type Stdlib::Ensure::Service = Enum['stopped', 'running']
type Stdlib::CreateResources = Hash[String[1], Hash[String[1], Any]]

# Texts and sizes.
type Stdlib::Base32 = Pattern[/\A[a-z2-7]+={,6}\z/, /\A[A-Z2-7]+={,6}\z/]
type Stdlib::Base64 = Pattern[/\A[a-zA-Z0-9\/+]+={,2}\z/]
type Stdlib::Datasize = Pattern[/^\d+(?i:[kmgt]b?|b)$/]
type Stdlib::Yes_no = Pattern[/\A(?i:yes|no)\z/]
type Stdlib::Syslogfacility = Enum[
  'kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'cron', 'authpriv', 'ftp', 'ntp', 'security', 'console', 'solaris-cron',
  'local0', 'local1', 'local2', 'local3', 'local4', 'local5', 'local6', 'local7',
]
`
