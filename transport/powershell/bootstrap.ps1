$ProgressPreference='SilentlyContinue'
try{[Console]::OutputEncoding=New-Object Text.UTF8Encoding $false}catch{}
$BoltIn=[Console]::OpenStandardInput()
function BoltHead{$s='';while(($c=$BoltIn.ReadByte()) -ne 10){if($c -lt 0){throw 'what bolt sends ended early'};$s+=[char]$c};$s.Split(' ')}
function BoltCopy($to,[long]$n){$b=New-Object byte[] 81920;while($n -gt 0){$k=$BoltIn.Read($b,0,[int][Math]::Min($n,$b.Length));if($k -le 0){throw 'what bolt sends ended early'};$to.Write($b,0,$k);$n-=$k}}
function BoltText([long]$n){$m=New-Object IO.MemoryStream;BoltCopy $m $n;[Text.Encoding]::UTF8.GetString($m.ToArray())}
$BoltKey,$BoltSize=BoltHead
. ([ScriptBlock]::Create((BoltText $BoltSize)))
