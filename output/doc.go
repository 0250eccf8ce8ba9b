// Package output shows people and programs what happens: the progress and the
// results of an action on targets, and errors. Package listing prints all else.
//
// New returns the sink of events for one of the formats human, json, ndjson and
// rainbow; it shows actions and plans. The layouts of human and json are Puppet
// Bolt's; ndjson is described in docs/ndjson.md. Progress puts a line of counts beside
// a sink, Hints prints what to do about failures, and Log writes bolt's log.
//
// A sink of New copies the outputs of targets to a buffered writer, which is flushed
// after each event. It keeps an output only where equal results are folded, until it has
// printed it. Only a StatusLine, of Progress, has a goroutine.
package output

// Rules of the terminal interface
//
//   - Standard output has results, summaries, lists, and fatal errors, as
//     Puppet Bolt has it: whoever saves the output has the whole story.
//     Standard error has log lines, questions and the line of counts.
//   - In the formats json and ndjson, standard output has nothing but JSON
//     once an action has begun; streamed lines go to standard error.
//   - Our own lines begin with a capital letter at the first column and name
//     their target; what a target said is indented by two blanks below them,
//     or, when it is streamed, prefixed with "[target] out: " or
//     "[target] err: ".
//   - Colours: green for what began or went well, red for failures, yellow for
//     what deserves a look, cyan for headings of lists. None mean anything
//     that the words do not say. There are none unless standard output is a
//     terminal and they are wanted.
//   - On a terminal, what a target said loses all control sequences but
//     colours (those as well when colours are unwanted), see safetext.Terminal.
//     Elsewhere its bytes stay as they are, but for those that are no UTF-8:
//     these are written as \xHH in every format. Messages of errors lose them
//     everywhere, and JSON escapes them. docs/terminals.md describes this.
//   - Names of targets are shown without passwords (Target.SafeName); JSON has
//     the name as it is, because programs compare it.
