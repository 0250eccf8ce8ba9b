// Package output prints the progress and the results of an action on targets, and
// errors, for people and programs. Package listing prints all other output.
//
// New returns the sink of events for one of the formats human, json, ndjson and rainbow;
// it prints actions and plans, and hints about their failures. The layouts of human and
// json are Puppet Bolt's; docs/ndjson.md describes ndjson. Progress adds a line of
// counts to a sink, and Log writes bolt's log.
//
// A sink of New copies the outputs of targets to a buffered writer, which is flushed
// after each event. If equal results are folded, it keeps an output until it has printed
// it; otherwise it keeps none. Only a StatusLine, of Progress, has a goroutine.
package output

// Rules of the terminal interface
//
//   - Standard output has results, summaries, lists, and fatal errors, as in
//     Puppet Bolt, so that saved output is complete. Standard error has log
//     lines, questions and the line of counts.
//   - An error has the order problem, place, hint, all on one stream. In JSON, and
//     if a program reads the streams through two pipes (Options.Apart), standard
//     error has the parts that Puppet Bolt does not print: hints, lines of files, the
//     calls that led to the failure of a plan. Such a program may compare standard
//     output with Puppet Bolt's. docs/terminals.md describes this.
//   - In the formats json and ndjson, standard output has only JSON after an
//     action has begun; streamed lines go to standard error.
//   - bolt's own lines begin with a capital letter at the first column and name
//     their target. Output of a target is indented by two blanks below them or,
//     if it is streamed, prefixed with "[target] out: " or "[target] err: ".
//   - Colours: green for begin and success, red for failures, yellow for
//     warnings, cyan for headings of lists. Colours add no information to the
//     words. They are only used if standard output is a terminal and they are
//     enabled.
//   - On a terminal, output of a target loses all control sequences except
//     colours (and colours too, if they are disabled), see safetext.Terminal.
//     Elsewhere its bytes stay as they are, except bytes that are not UTF-8:
//     these are written as \xHH in every format. Messages of errors lose control
//     sequences everywhere, and JSON escapes them. docs/terminals.md describes
//     this.
//   - Names of targets are shown without passwords (Target.SafeName); JSON has
//     the name as it is, because programs compare it.
