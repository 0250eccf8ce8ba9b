# The program of bolt on a machine with PowerShell. bootstrap.ps1 reads it. It
# processes the frames that follow on standard input (frame.go): first the
# request, up to "go", then files. The standard input of a command comes after
# them and is not read. No part of the request becomes code, except the line of
# a command.
#
# It first prints one line on standard output: the mark in the request, "ok" or
# an error code, and the error text in base64.
$ErrorActionPreference = 'Stop'
$BoltOut = [Console]::OpenStandardOutput()
$BoltAsk = @{}
$BoltDir = $null
$BoltTold = $false

function BoltWrite([string]$key, [byte[]]$bytes, [int]$n) {
    $head = [Text.Encoding]::ASCII.GetBytes($key + ' ' + $n + "`n")
    $BoltOut.Write($head, 0, $head.Length)
    $BoltOut.Write($bytes, 0, $n)
}

function BoltWriteText([string]$key, [string]$text) {
    $bytes = [Text.Encoding]::UTF8.GetBytes($text)
    BoltWrite $key $bytes $bytes.Length
}

function BoltTell([string]$code, [string]$text) {
    $said = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($text))
    $line = [Text.Encoding]::ASCII.GetBytes((BoltOne 'mark') + ' ' + $code + ' ' + $said + "`n")
    $BoltOut.Write($line, 0, $line.Length)
    $BoltOut.Flush()
    $script:BoltTold = $true
}

# BoltOne returns the text of a key in the request, '' if there is none.
function BoltOne([string]$key) {
    if ($BoltAsk.ContainsKey($key)) { $BoltAsk[$key][0] } else { '' }
}

function BoltUnder([string]$root, [string]$name) {
    [IO.Path]::Combine($root, $name.Replace('/', [string][IO.Path]::DirectorySeparatorChar))
}

function BoltPath([string]$path) {
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($path)
}

function BoltSum($sha) { [BitConverter]::ToString($sha.Hash).Replace('-', '').ToLowerInvariant() }

# BoltUnpack writes the files that follow below a directory.
function BoltUnpack([string]$root) {
    while ($true) {
        $key, $n = BoltHead
        if ($key -ceq 'end') { return }
        $path = BoltUnder $root (BoltText $n)
        if ($key -ceq 'dir') {
            [void][IO.Directory]::CreateDirectory($path)
            continue
        }
        $sha = [Security.Cryptography.SHA256]::Create()
        $file = New-Object IO.FileStream($path, [IO.FileMode]::CreateNew)
        try {
            $to = New-Object Security.Cryptography.CryptoStream($file, $sha, [Security.Cryptography.CryptoStreamMode]::Write)
            $key, $n = BoltHead
            while ($key -ceq 'data') {
                BoltCopy $to $n
                $key, $n = BoltHead
            }
            $to.FlushFinalBlock()
        } finally {
            $file.Dispose()
        }
        if ((BoltSum $sha) -cne (BoltText $n)) { throw "$path did not arrive as it was sent" }
    }
}

# BoltPack writes a file or directory to standard output as frames.
function BoltPack([string]$path, [string]$name) {
    if ([IO.Directory]::Exists($path)) {
        BoltWriteText 'dir' $name
        $entries = [IO.Directory]::GetFileSystemEntries($path)
        [Array]::Sort($entries, [StringComparer]::Ordinal)
        foreach ($entry in $entries) { BoltPack $entry ($name + '/' + [IO.Path]::GetFileName($entry)) }
        return
    }
    $file = New-Object IO.FileStream($path, [IO.FileMode]::Open, [IO.FileAccess]::Read, [IO.FileShare]::ReadWrite)
    try {
        BoltWriteText 'file' $name
        BoltWriteText 'size' ([string]$file.Length)
        $sha = [Security.Cryptography.SHA256]::Create()
        $left = $file.Length
        $buffer = New-Object byte[] 81920
        while ($left -gt 0) {
            $k = $file.Read($buffer, 0, [int][Math]::Min($left, $buffer.Length))
            if ($k -le 0) { throw "$path became shorter while it was read" }
            [void]$sha.TransformBlock($buffer, 0, $k, $null, 0)
            BoltWrite 'data' $buffer $k
            $left -= $k
        }
        [void]$sha.TransformFinalBlock($buffer, 0, 0)
        BoltWriteText 'sum' (BoltSum $sha)
    } finally {
        $file.Dispose()
    }
}

# BoltClean removes the private directory. Files that are still open stay.
function BoltClean {
    if (-not $BoltDir -or (BoltOne 'keep')) { return }
    Set-Location -LiteralPath ([IO.Path]::GetTempPath())
    [Environment]::CurrentDirectory = [IO.Path]::GetTempPath()
    Remove-Item -LiteralPath $BoltDir -Recurse -Force -ErrorAction SilentlyContinue
}

# BoltTable converts the result of ConvertFrom-Json to hash tables.
function BoltTable($value) {
    if ($value -is [Management.Automation.PSCustomObject]) {
        $table = @{}
        foreach ($p in $value.PSObject.Properties) { $table[$p.Name] = BoltTable $p.Value }
        return $table
    }
    if ($value -is [Array]) {
        $list = @(foreach ($e in $value) { , (BoltTable $e) })
        return , $list
    }
    return $value
}

# BoltFind returns the path of a program.
function BoltFind([string]$name) {
    if ($name.IndexOfAny([char[]]'\/') -ge 0) {
        $path = BoltPath $name
        if (-not [IO.File]::Exists($path)) { throw "program does not exist: $name" }
    } else {
        $found = @(Get-Command -Name $name -CommandType Application -ErrorAction SilentlyContinue)
        if ($found.Count -eq 0) { throw "program $name is not in PATH" }
        $path = $found[0].Definition
    }
    # The quoting for batch files differs, because cmd.exe reads them.
    if ($path -match '\.(bat|cmd)$') { throw "$name is the batch file $path; name it with its extension" }
    return $path
}

function BoltPrepare {
    $script:BoltCode = 'TMPDIR_ERROR'
    if (BoltOne 'staged') {
        $parent = BoltOne 'tmpdir'
        if ($parent) { $parent = BoltPath $parent } else { $parent = [IO.Path]::GetTempPath() }
        if (-not [IO.Directory]::Exists($parent)) { throw "directory does not exist: $parent" }
        $name = BoltOne 'name'
        if (-not $name) { $name = [IO.Path]::GetRandomFileName() }
        $dir = [IO.Path]::Combine($parent, $name)
        if ([IO.Directory]::Exists($dir) -or [IO.File]::Exists($dir)) { throw "$dir is there already" }
        [void][IO.Directory]::CreateDirectory($dir)
        $script:BoltDir = $dir
        $script:BoltCode = 'WRITE_ERROR'
        BoltUnpack $dir
    }
    $script:BoltCode = 'CHDIR_ERROR'
    $dir = BoltOne 'cwd'
    if ($dir) {
        Set-Location -LiteralPath $dir
        [Environment]::CurrentDirectory = (Get-Location).ProviderPath
    }
    $script:BoltCode = 'EXEC_ERROR'
    if ($BoltAsk.ContainsKey('env')) {
        foreach ($entry in $BoltAsk['env']) {
            $name, $value = $entry.Split([char[]]'=', 2)
            [Environment]::SetEnvironmentVariable($name, $value)
        }
    }
}

# BoltExec starts a program with the arguments of the request, unchanged, and
# with this process's streams.
function BoltExec {
    $words = @(foreach ($word in @($BoltAsk['word'] | Where-Object { $_ })) {
            # The first letter is the type of the rest.
            if ($word[0] -ceq '@') { '"' + (BoltUnder $BoltDir $word.Substring(1)) + '"' } else { $word.Substring(1) }
        })
    $start = New-Object Diagnostics.ProcessStartInfo
    $program = BoltOne 'program'
    if ($program[0] -ceq '@') {
        $start.FileName = BoltUnder $BoltDir $program.Substring(1)
    } else {
        $start.FileName = BoltFind $program.Substring(1)
    }
    $start.Arguments = [string]::Join(' ', $words)
    $start.UseShellExecute = $false
    $start.WorkingDirectory = (Get-Location).ProviderPath
    BoltTell 'ok' ''
    $process = [Diagnostics.Process]::Start($start)
    $process.WaitForExit()
    return $process.ExitCode
}

# BoltPut writes an upload and moves it to its destination.
function BoltPut {
    $script:BoltCode = 'MV_ERROR'
    $base = BoltOne 'base'
    $to = BoltPath (BoltOne 'to')
    if ([IO.Directory]::Exists($to)) { $to = [IO.Path]::Combine($to, $base) }
    $to = $to.TrimEnd([char[]]'\/')
    $parent = [IO.Path]::GetDirectoryName($to)
    if (-not [IO.Directory]::Exists($parent)) { throw "directory does not exist: $parent" }
    # The copy is written next to the destination and then renamed.
    $near = [IO.Path]::Combine($parent, '.bolt-' + [IO.Path]::GetRandomFileName())
    [void][IO.Directory]::CreateDirectory($near)
    try {
        $script:BoltCode = 'WRITE_ERROR'
        BoltUnpack $near
        $script:BoltCode = 'MV_ERROR'
        $from = [IO.Path]::Combine($near, $base)
        if ([IO.Directory]::Exists($from)) {
            if ([IO.File]::Exists($to)) { throw "$to is a file" }
            if ([IO.Directory]::Exists($to)) { [IO.Directory]::Delete($to) }
            [IO.Directory]::Move($from, $to)
        } elseif ([IO.Directory]::Exists($to)) {
            throw "$to is a directory"
        } elseif ([IO.File]::Exists($to)) {
            [IO.File]::Replace($from, $to, [IO.Path]::Combine($near, 'replaced-' + [IO.Path]::GetRandomFileName()))
        } else {
            [IO.File]::Move($from, $to)
        }
    } finally {
        Remove-Item -LiteralPath $near -Recurse -Force -ErrorAction SilentlyContinue
    }
}

function BoltGet {
    $script:BoltCode = 'WRITE_ERROR'
    $from = BoltPath (BoltOne 'from')
    if (-not [IO.Directory]::Exists($from) -and -not [IO.File]::Exists($from)) { throw "file or directory does not exist: $from" }
    BoltTell 'ok' ''
    BoltPack $from (BoltOne 'base')
    BoltWriteText 'end' ''
}

$BoltCode = 'EXEC_ERROR'
$BoltExit = 0
$BoltFail = 126
try {
    while ($true) {
        $BoltKey, $BoltSize = BoltHead
        if ($BoltKey -ceq 'go') { break }
        $BoltAsk[$BoltKey] = @($BoltAsk[$BoltKey] | Where-Object { $_ -ne $null }) + (BoltText $BoltSize)
    }
    switch -CaseSensitive (BoltOne 'do') {
        'tempdir' { BoltTell 'ok' ([IO.Path]::GetTempPath()) }
        'put' { BoltPut; BoltTell 'ok' '' }
        'get' { BoltGet }
        'line' {
            BoltPrepare
            BoltTell 'ok' ''
            $BoltFail = 1
            $BoltBlock = [ScriptBlock]::Create((BoltOne 'line') + "`r`nif (!`$?) { if (`$LASTEXITCODE) { exit `$LASTEXITCODE } else { exit 1 } }")
        }
        'script' {
            BoltPrepare
            $BoltFile = BoltUnder $BoltDir (BoltOne 'program')
            $BoltGive = @($BoltAsk['arg'] | Where-Object { $_ -ne $null })
            if (BoltOne 'params') {
                # Only the parameters that the script declares are passed.
                $BoltAll = BoltTable (ConvertFrom-Json (BoltOne 'params'))
                $BoltKnown = (Get-Command $BoltFile).Parameters
                $BoltGive = @{}
                foreach ($k in @($BoltAll.Keys)) {
                    if ($BoltKnown -and $BoltKnown.ContainsKey($k)) { $BoltGive[$k] = $BoltAll[$k] }
                }
            }
            BoltTell 'ok' ''
        }
        'exec' { BoltPrepare; $BoltExit = BoltExec }
    }
} catch {
    $BoltWhy = $_.Exception.Message
    if (-not $BoltTold) {
        BoltTell $BoltCode $BoltWhy
    } elseif ((BoltOne 'do') -ceq 'get') {
        BoltWriteText 'error' $BoltWhy
    } else {
        [Console]::Error.WriteLine($BoltWhy)
    }
    BoltClean
    exit $BoltFail
}

$ErrorActionPreference = 'Continue'
switch -CaseSensitive (BoltOne 'do') {
    'line' {
        try { . $BoltBlock } finally { BoltClean }
    }
    'script' {
        try {
            & $BoltFile @BoltGive
            if (!$?) { if ($LASTEXITCODE) { $BoltExit = $LASTEXITCODE } else { $BoltExit = 1 } }
        } catch {
            [Console]::Error.WriteLine(($_ | Out-String).Trim())
            $BoltExit = 1
        } finally {
            BoltClean
        }
    }
    default { BoltClean }
}
exit $BoltExit
