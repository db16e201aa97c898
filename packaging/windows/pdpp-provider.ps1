# A store of your own data that belongs to a separate user, on Windows. NEVER RUN: written on Linux, where nothing parsed it.
#
# As an administrator, in the folder of this file, which also has pdpp.exe:
#
#   powershell -ExecutionPolicy Bypass -File pdpp-provider.ps1
#
# Windows has no owner's socket: an administrator imports, and looks at the store, as that user (runas /user:pdpp-store).

#Requires -RunAsAdministrator
$ErrorActionPreference = 'Stop'

$user = 'pdpp-store'
$programs = Join-Path $env:ProgramFiles 'pdpp'
$store = Join-Path $env:ProgramData 'pdpp'

# A password that nobody knows: only the task has it.
$bytes = New-Object byte[] 32
[System.Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($bytes)
$password = [Convert]::ToBase64String($bytes) + '!a1'
$secret = ConvertTo-SecureString $password -AsPlainText -Force
New-LocalUser -Name $user -Password $secret -PasswordNeverExpires -UserMayNotChangePassword -Description 'Has the store of pdpp' | Out-Null

# Only administrators can write below Program Files.
New-Item -ItemType Directory -Force $programs | Out-Null
Copy-Item (Join-Path $PSScriptRoot 'pdpp.exe') $programs

# Only that user can reach the store; administrators can still take it over, as everywhere on Windows.
New-Item -ItemType Directory -Force $store | Out-Null
icacls $store /inheritance:r /grant:r "${user}:(OI)(CI)F" 'SYSTEM:(OI)(CI)F' | Out-Null

$task = (Get-Content -Raw (Join-Path $PSScriptRoot 'pdpp-provider.xml')).Replace('PDPP_USER', "$env:COMPUTERNAME\$user").Replace('PDPP_STORE', $store)
Register-ScheduledTask -TaskName 'pdpp-provider' -Xml $task -User "$env:COMPUTERNAME\$user" -Password $password | Out-Null

Write-Host "Made. As $user, once: pdpp provider prepare --data-dir $store; then: Start-ScheduledTask pdpp-provider"
