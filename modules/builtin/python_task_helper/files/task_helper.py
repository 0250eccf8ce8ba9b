# -*- coding: utf-8 -*-
"""What a task in Python is made of.

A task that names "python_task_helper/files/task_helper.py" among the files in
its metadata, and "stdin" as its input method, is a class with a method:

    import os, sys
    sys.path.append(os.path.join(os.path.dirname(__file__), '..', '..',
                                 'python_task_helper', 'files'))
    from task_helper import TaskHelper, TaskError

    class Greeting(TaskHelper):
        def task(self, args):
            return {'greeting': 'Hello, ' + args['name']}

    if __name__ == '__main__':
        Greeting().run()

args holds the parameters, and Bolt's own (_task, _installdir, _noop). The
dictionary that task returns is the result. TaskError ends a task with an error.

Runs with Python 2.7 and 3.
"""
import json
import sys

UNEXPECTED = 'python.task.helper/exception'


def _text(value):
    """The text of a value, even of one that Python 2 cannot turn into a str."""
    try:
        return str(value)
    except UnicodeError:
        return u'%s' % value


class TaskError(Exception):
    """An error that a task ends with on purpose."""

    def __init__(self, msg, kind, details=None, issue_code=None):
        super(TaskError, self).__init__(msg)
        self.kind = kind
        self.details = details or {}
        self.issue_code = issue_code

    def to_hash(self):
        """The result of a task that ends with the error."""
        error = {'kind': self.kind, 'msg': _text(self), 'details': self.details}
        if self.issue_code:
            error['issue_code'] = self.issue_code
        return {'_error': error}


class TaskHelper(object):
    """The parent of a task's class."""

    # For a task with a constructor of its own that does not call this one.
    debug_statements = ()

    def __init__(self):
        self.debug_statements = []

    def debug(self, statement):
        """Keeps a statement, which is in the result if the task ends with an
        exception that it did not expect."""
        if not self.debug_statements:
            self.debug_statements = []
        self.debug_statements.append(statement)

    def task(self, args):
        """Does the task. A task has its own."""
        raise TaskError("%s has no method 'task'" % self.__class__.__name__,
                        UNEXPECTED, {}, 'EXCEPTION')

    def run(self):
        """Runs the task: parameters come as JSON from standard input, the
        result goes to standard output. An error ends the program with status 1.
        """
        try:
            # Whole before it is written: half a result is none.
            print(json.dumps(self.task(_parameters(sys.stdin))))
        except TaskError as err:
            _give_up(err)
        except Exception as err:
            _give_up(TaskError(_text(err), UNEXPECTED, {
                'class': err.__class__.__name__,
                'debug': list(self.debug_statements),
            }, 'EXCEPTION'))


def _parameters(stream):
    # Parameters are UTF-8 whatever the locale is, of which a stream of text
    # takes its encoding.
    text = getattr(stream, 'buffer', stream).read()
    if isinstance(text, bytes):
        text = text.decode('utf-8')
    if not text.strip():
        raise ValueError('standard input does not hold parameters: '
                         'the task\'s metadata needs "input_method": "stdin"')
    return json.loads(text)


def _printable(value):
    """Stands for what has no form in JSON within an error."""
    if isinstance(value, bytes):
        return value.decode('utf-8', 'replace')
    return repr(value)


def _clean(value):
    """A copy of a value of an error that JSON can hold for sure."""
    if isinstance(value, dict):
        return dict((_clean_key(k), _clean(v)) for k, v in value.items())
    if isinstance(value, (list, tuple, set)):
        return [_clean(v) for v in value]
    if isinstance(value, bytes):
        return _printable(value)
    return value


def _clean_key(key):
    return _printable(key) if isinstance(key, bytes) else u'%s' % (key,)


def _give_up(error):
    print(json.dumps(_clean(error.to_hash()), default=_printable))
    sys.exit(1)
