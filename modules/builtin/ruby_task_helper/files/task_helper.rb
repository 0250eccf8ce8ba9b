# frozen_string_literal: true

# What a task in Ruby is made of. A task that names
# "ruby_task_helper/files/task_helper.rb" among the files in its metadata, and
# "stdin" as its input method, is a class with a method:
#
#   require_relative '../../ruby_task_helper/files/task_helper.rb'
#
#   class Greeting < TaskHelper
#     def task(name: 'world', **_others)
#       { greeting: "Hello, #{name}" }
#     end
#   end
#
#   Greeting.run if __FILE__ == $PROGRAM_NAME
#
# The parameters, and Bolt's own (_task, _installdir, _noop), are keywords; the
# keys of hashes in them are symbols, too. The hash that task returns is the
# result. TaskHelper::Error ends a task with an error.
#
# Runs with Ruby 2.0 and later.

require 'json'

# The parent of a task's class.
class TaskHelper
  # An error that a task ends with on purpose.
  class Error < RuntimeError
    attr_reader :kind, :details, :issue_code

    def initialize(msg, kind, details = nil, issue_code = nil)
      super(msg)
      @kind = kind
      @details = details || {}
      @issue_code = issue_code
    end

    # What is in the result under _error.
    def to_h
      hash = { 'kind' => kind, 'msg' => message, 'details' => details }
      hash['issue_code'] = issue_code if issue_code
      hash
    end
  end

  # The statements so far, or nil if there are none.
  attr_reader :debug_statements

  # Keeps a statement, which is in the result if the task ends with an exception
  # that it did not expect.
  def debug(statement)
    (@debug_statements ||= []) << statement
  end

  # Does the task. A task has its own.
  def task(_params = {})
    raise Error.new("#{self.class} has no method 'task'", 'tasklib/not-implemented')
  end

  # Runs the task: parameters come as JSON from standard input, the result goes
  # to standard output. An error ends the program with status 1.
  def self.run
    worker = new
    answer = worker.task(**walk_keys(Wire.read($stdin)))
    $stdout.print(answer.is_a?(Hash) ? Wire.json(answer) : answer.to_s)
  rescue Error => e
    Wire.give_up(e)
  rescue StandardError, ScriptError, SystemStackError => e
    details = { 'backtrace' => e.backtrace || [] }
    said = worker && worker.debug_statements
    details['debug'] = said if said
    Wire.give_up(Error.new(e.message, e.class.to_s, details))
  end

  # A copy of a value in which the keys of all hashes are symbols.
  def self.walk_keys(data)
    case data
    when Hash then Hash[data.map { |key, value| [key.to_sym, walk_keys(value)] }]
    when Array then data.map { |value| walk_keys(value) }
    else data
    end
  end

  # What goes in and out. It is no part of the class, whose children have methods
  # of any name.
  module Wire
    module_function

    def read(stream)
      text = stream.read.to_s.dup.force_encoding(Encoding::UTF_8)
      if text.strip.empty?
        raise JSON::ParserError, 'standard input does not hold parameters: ' \
                                 "the task's metadata needs \"input_method\": \"stdin\""
      end
      JSON.parse(text)
    end

    def json(data)
      JSON.generate(in_utf8(data))
    end

    def give_up(error)
      $stdout.print(error_json(error))
      exit 1
    end

    def error_json(error)
      json('_error' => error.to_h)
    rescue JSON::JSONError # no number, or too deep
      json('_error' => error.to_h.merge('details' => { 'inspect' => error.details.inspect }))
    end

    # A copy of a value that JSON can hold. What a program printed is marked as
    # US-ASCII in the C locale, even if it is UTF-8, and need not be text at all.
    def in_utf8(data)
      case data
      when Hash then Hash[data.map { |key, value| [in_utf8(key.to_s), in_utf8(value)] }]
      when Array then data.map { |value| in_utf8(value) }
      when Symbol then in_utf8(data.to_s)
      when String then utf8_text(data)
      else data
      end
    end

    def utf8_text(string)
      unless [Encoding::US_ASCII, Encoding::BINARY, Encoding::UTF_8].include?(string.encoding)
        return string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      end
      text = string.dup.force_encoding(Encoding::UTF_8)
      return text if text.valid_encoding?
      # By way of another encoding, as one to itself changes nothing.
      text.encode(Encoding::UTF_16LE, invalid: :replace).encode(Encoding::UTF_8)
    end
  end
  private_constant :Wire
end
