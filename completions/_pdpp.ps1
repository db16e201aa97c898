
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'pdpp' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'pdpp'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'pdpp' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('demo', 'demo', [CompletionResultType]::ParameterValue, 'See it work on this computer in about a second: an import, a grant and an agent''s questions')
            [CompletionResult]::new('connect', 'connect', [CompletionResultType]::ParameterValue, 'Get a grant from a provider: approve it in the browser, and keep its token on this computer')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Import your own exports into a store on this computer')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is connected, until when, and whether it works')
            [CompletionResult]::new('disconnect', 'disconnect', [CompletionResultType]::ParameterValue, 'End grants, and delete their tokens from this computer')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Show what is wrong, and what to type to fix it')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what agents read through this computer')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page (roff) of pdpp or of one of its commands')
            [CompletionResult]::new('mcp', 'mcp', [CompletionResultType]::ParameterValue, 'Serve the granted data to MCP hosts, and set those hosts up')
            [CompletionResult]::new('provider', 'provider', [CompletionResultType]::ParameterValue, 'Your own data on this computer: what the store has, what you granted, and how to end a grant')
            [CompletionResult]::new('sandbox', 'sandbox', [CompletionResultType]::ParameterValue, 'Run a PDPP provider on this computer, with made-up data')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;demo' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Show every answer in full instead of its first lines')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;connect' {
            [CompletionResult]::new('--flow', '--flow', [CompletionResultType]::ParameterName, 'How to get the grant [default: what the provider offers; over SSH, in a container or without a display, a device code if the provider has it]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Stop waiting after this many seconds, 1 to 3600 [default: until the provider''s page expires]')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Give the grant this name [default: a name made from its sources]')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Where to keep this token and later ones [default: the last choice, else auto]')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'The grant to renew: its id, the beginning of its id, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--account', '--account', [CompletionResultType]::ParameterName, 'Tick this account in advance: its id or its name (repeatable)')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve the grant to this host only, through the entry that `pdpp mcp setup HOST` writes')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Ask for this source, if the provider has several')
            [CompletionResult]::new('--instance', '--instance', [CompletionResultType]::ParameterName, 'Ask for this account of the source, by its instance id (repeatable)')
            [CompletionResult]::new('--stream', '--stream', [CompletionResultType]::ParameterName, 'Ask only for this stream (repeatable)')
            [CompletionResult]::new('--field', '--field', [CompletionResultType]::ParameterName, 'Ask only for this field of a stream, and the fields that the stream requires (repeatable)')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Ask only for records from this day on (2026-01-31, or an RFC 3339 time)')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Ask only for records from before this day')
            [CompletionResult]::new('--expires', '--expires', [CompletionResultType]::ParameterName, 'Ask for access that ends at this time, or after this long (30d, 12h)')
            [CompletionResult]::new('--purpose', '--purpose', [CompletionResultType]::ParameterName, 'State what the data is for: in words, or as a purpose code (an https URI)')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--no-browser', '--no-browser', [CompletionResultType]::ParameterName, 'Do not open a browser; print an address on this computer, and the code that its page asks for')
            [CompletionResult]::new('--renew', '--renew', [CompletionResultType]::ParameterName, 'Ask again for a grant on this computer, and replace it; the old one is ended at its provider')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('--while-stdin-is-open', '--while-stdin-is-open', [CompletionResultType]::ParameterName, 'Stop when standard input ends; the parent process keeps it open')
            [CompletionResult]::new('--in-terminal', '--in-terminal', [CompletionResultType]::ParameterName, 'Decide at this terminal instead of on a page in the browser')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;import' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Read the files as this format, and refuse those that have a different one')
            [CompletionResult]::new('--account', '--account', [CompletionResultType]::ParameterName, 'Whose data it is: the name of the account')
            [CompletionResult]::new('--timezone', '--timezone', [CompletionResultType]::ParameterName, 'The time zone of times without one, such as Europe/Oslo [default: the account''s, else this computer''s]')
            [CompletionResult]::new('--date-order', '--date-order', [CompletionResultType]::ParameterName, 'The order of day, month and year in dates')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Leave out what is older than this day, YYYY-MM-DD, or this time, YYYY-MM-DDTHH:MM')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write what could not be read to this file, one JSON object per line, and try again what could not be read before')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be imported, and change nothing')
            [CompletionResult]::new('--copy-attachments', '--copy-attachments', [CompletionResultType]::ParameterName, 'Keep copies of attachments in the store; without this option they are read from the export, which must stay where it is')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Import what the plan shows without asking')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object')
            [CompletionResult]::new('--while-stdin-is-open', '--while-stdin-is-open', [CompletionResultType]::ParameterName, 'Stop when standard input ends; the parent process keeps it open')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;status' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Show only the grants of this provider')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Show only this grant: its id, the beginning of its id, or its name')
            [CompletionResult]::new('--move-to', '--move-to', [CompletionResultType]::ParameterName, 'First move every token into the keyring or into private files; new tokens go there too')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Ask each provider whether the grant still works')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;disconnect' {
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Only this one of the matching grants')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'All matching grants; if nothing else is named, all grants')
            [CompletionResult]::new('--forget', '--forget', [CompletionResultType]::ParameterName, 'Also delete here what cannot be ended at its provider yet: its token cannot be read, or the provider is unreachable')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask; required where there is no terminal to ask on')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask; required where there is no terminal to ask on')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object; do not ask')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;doctor' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;log' {
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Only calls since this time: 30m, 2h, 7d, a date (UTC) or a time')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Show at most this many calls, the newest ones')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('--off', '--off', [CompletionResultType]::ParameterName, 'Stop logging calls, in running servers too; it stays off until --on')
            [CompletionResult]::new('--on', '--on', [CompletionResultType]::ParameterName, 'Log calls again')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;completions' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;man' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Serve a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;mcp;serve' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Serve only the grants of this provider')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve only what was granted to this host alone (`pdpp connect local --for`)')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--no-access-log', '--no-access-log', [CompletionResultType]::ParameterName, 'Do not log the calls (see `pdpp log`)')
            [CompletionResult]::new('--check-tokens', '--check-tokens', [CompletionResultType]::ParameterName, 'Only report, as one JSON object, whether the tokens can be read here; contacts no provider')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;setup' {
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'The name of the entry')
            [CompletionResult]::new('--scope', '--scope', [CompletionResultType]::ParameterName, 'Whose config: yours, or the current directory''s if the host reads one')
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'For chatgpt: the provider to connect to [default: the connected ones]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every host that is installed here')
            [CompletionResult]::new('--remove', '--remove', [CompletionResultType]::ParameterName, 'Remove the entry')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would change, as a unified diff, and change nothing')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain grants, and keep what a project''s entry sets')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain grants, and keep what a project''s entry sets')
            [CompletionResult]::new('--print', '--print', [CompletionResultType]::ParameterName, 'Print the entry to paste (and an install link, if the host has one) and change nothing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Restore the file if the recorded command does not start')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object: the plan and the result')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;inspect' {
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Fail (exit code 1) if the tools array is larger than this')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'How long the other server may take; allow more for one that is downloaded first')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;call' {
            [CompletionResult]::new('--view', '--view', [CompletionResultType]::ParameterName, 'Show only one view')
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Serve only the grants of this provider')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve only what was granted to this host alone (`pdpp connect local --for`)')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the whole result as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;host' {
            [CompletionResult]::new('--provider-url', '--provider-url', [CompletionResultType]::ParameterName, 'The provider whose data to offer')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'The address to listen on; port 0 picks a free port')
            [CompletionResult]::new('--public-url', '--public-url', [CompletionResultType]::ParameterName, 'The URL at which clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]')
            [CompletionResult]::new('--trusted-host', '--trusted-host', [CompletionResultType]::ParameterName, 'Also answer requests whose Host is this name, in addition to the public URL''s; repeat for more')
            [CompletionResult]::new('--allowed-origin', '--allowed-origin', [CompletionResultType]::ParameterName, 'Let pages of this origin call the endpoint; repeat for more [default: none]')
            [CompletionResult]::new('--introspection-file', '--introspection-file', [CompletionResultType]::ParameterName, 'The file with the credentials for introspection: {"client_id":…,"client_secret":…}, mode 600')
            [CompletionResult]::new('--tls-cert', '--tls-cert', [CompletionResultType]::ParameterName, 'Serve TLS here, with this certificate chain (PEM)')
            [CompletionResult]::new('--tls-key', '--tls-key', [CompletionResultType]::ParameterName, 'The certificate''s private key (PEM), mode 600')
            [CompletionResult]::new('--metrics-listen', '--metrics-listen', [CompletionResultType]::ParameterName, 'Serve counters in Prometheus'' format at /metrics on this address, separately from the endpoint')
            [CompletionResult]::new('--max-body-bytes', '--max-body-bytes', [CompletionResultType]::ParameterName, 'The maximum size of a request''s body')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The maximum size of either view of one result, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]')
            [CompletionResult]::new('--requests-per-minute', '--requests-per-minute', [CompletionResultType]::ParameterName, 'Requests per minute with one bearer token, on average')
            [CompletionResult]::new('--max-concurrent-per-bearer', '--max-concurrent-per-bearer', [CompletionResultType]::ParameterName, 'Concurrent requests with one bearer token')
            [CompletionResult]::new('--max-concurrent', '--max-concurrent', [CompletionResultType]::ParameterName, 'Concurrent requests in total')
            [CompletionResult]::new('--max-connections', '--max-connections', [CompletionResultType]::ParameterName, 'Concurrent connections; a further one closes the oldest idle one')
            [CompletionResult]::new('--max-connections-per-address', '--max-connections-per-address', [CompletionResultType]::ParameterName, 'Concurrent connections from one address (IPv6: /64) [default: a quarter of --max-connections]')
            [CompletionResult]::new('--trusted-proxy', '--trusted-proxy', [CompletionResultType]::ParameterName, 'A proxy''s address, which is exempt from the limit per address, as this computer''s own addresses are; repeat for more')
            [CompletionResult]::new('--drain', '--drain', [CompletionResultType]::ParameterName, 'How long running requests may take after SIGTERM')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--introspection-keyring', '--introspection-keyring', [CompletionResultType]::ParameterName, 'Read the introspection credentials from the keyring instead')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;bundle' {
            [CompletionResult]::new('--connect', '--connect', [CompletionResultType]::ParameterName, 'The provider to connect, if it is not connected yet; or `local`, for your own data on this computer')
            [CompletionResult]::new('--import', '--import', [CompletionResultType]::ParameterName, 'A folder or file with your export: import it and ask for a grant, if none of your own data is granted yet')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--no-access-log', '--no-access-log', [CompletionResultType]::ParameterName, 'Do not log the calls (see `pdpp log`)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;help' {
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Serve a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;mcp;help;serve' {
            break
        }
        'pdpp;mcp;help;setup' {
            break
        }
        'pdpp;mcp;help;inspect' {
            break
        }
        'pdpp;mcp;help;call' {
            break
        }
        'pdpp;mcp;help;host' {
            break
        }
        'pdpp;mcp;help;bundle' {
            break
        }
        'pdpp;mcp;help;help' {
            break
        }
        'pdpp;provider' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is in the store of your own data, account by account, and how old it is')
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show the grants of your own data: who can read what, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: its token stops working at once')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read the file again to check that it is complete')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Restore a backup, if there is no store yet or an empty one')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: sources, grants, reads, imports and a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose or change the passphrase that every approval at `pdpp provider serve` needs')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;provider;status' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;grants' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;revoke' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;forget' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;backup' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--encrypt', '--encrypt', [CompletionResultType]::ParameterName, 'Encrypt it with a passphrase that you type at the terminal; `age -d` can open it too')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;restore' {
            [CompletionResult]::new('--called', '--called', [CompletionResultType]::ParameterName, 'The person''s name for the file, if root has copied it')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;open' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--no-browser', '--no-browser', [CompletionResultType]::ParameterName, 'Do not open a browser; print an address on this computer, and the code that it asks for')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;serve' {
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen: a loopback address; port 0 picks a free one')
            [CompletionResult]::new('--public-url', '--public-url', [CompletionResultType]::ParameterName, 'The https address at which others reach this, through a proxy or tunnel: https:// and a host')
            [CompletionResult]::new('--public-listen', '--public-listen', [CompletionResultType]::ParameterName, 'Where that proxy or tunnel forwards to: a second loopback address, for requests from outside this computer')
            [CompletionResult]::new('--owner-socket', '--owner-socket', [CompletionResultType]::ParameterName, 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. The unit of the separate set-up uses this')
            [CompletionResult]::new('--owner-uid', '--owner-uid', [CompletionResultType]::ParameterName, 'The user id of that person: the socket answers only them and root')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--core', '--core', [CompletionResultType]::ParameterName, 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;passphrase' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;install' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The user whose data it is [default: the user who typed sudo]')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where the service listens: a loopback address [default: its present address, else a free port]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only show what would be created, including the unit')
            [CompletionResult]::new('--no-start', '--no-start', [CompletionResultType]::ParameterName, 'Create everything, but do not start the service: for containers and other systems without systemd')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask only for the passphrase')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask only for the passphrase')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;uninstall' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The user whose data it is [default: the user who typed sudo]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--delete-data', '--delete-data', [CompletionResultType]::ParameterName, 'Delete the data too, permanently')
            [CompletionResult]::new('--keep-data', '--keep-data', [CompletionResultType]::ParameterName, 'Keep the data, and do not ask: it moves to kept-UID next to its old place')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask; without --delete-data the data stays')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask; without --delete-data the data stays')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;prepare' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: the directory named last, else `own` next to the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;help' {
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is in the store of your own data, account by account, and how old it is')
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show the grants of your own data: who can read what, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: its token stops working at once')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read the file again to check that it is complete')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Restore a backup, if there is no store yet or an empty one')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: sources, grants, reads, imports and a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose or change the passphrase that every approval at `pdpp provider serve` needs')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;provider;help;status' {
            break
        }
        'pdpp;provider;help;grants' {
            break
        }
        'pdpp;provider;help;revoke' {
            break
        }
        'pdpp;provider;help;forget' {
            break
        }
        'pdpp;provider;help;backup' {
            break
        }
        'pdpp;provider;help;restore' {
            break
        }
        'pdpp;provider;help;open' {
            break
        }
        'pdpp;provider;help;serve' {
            break
        }
        'pdpp;provider;help;passphrase' {
            break
        }
        'pdpp;provider;help;install' {
            break
        }
        'pdpp;provider;help;uninstall' {
            break
        }
        'pdpp;provider;help;prepare' {
            break
        }
        'pdpp;provider;help;help' {
            break
        }
        'pdpp;sandbox' {
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen: a loopback address. Port 0 picks a free port')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Keep data, grants and clients in this directory [default: in memory]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'The seed for the made-up data of a new store. The same seed always makes the same data')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never secrets or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Also trust the certificate authorities in this PEM file')
            [CompletionResult]::new('--core', '--core', [CompletionResultType]::ParameterName, 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused')
            [CompletionResult]::new('--auto-approve', '--auto-approve', [CompletionResultType]::ParameterName, 'For tests: approve every request without asking. Every program on this computer then gets a token, other users'' programs too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print where it listens as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;help' {
            [CompletionResult]::new('demo', 'demo', [CompletionResultType]::ParameterValue, 'See it work on this computer in about a second: an import, a grant and an agent''s questions')
            [CompletionResult]::new('connect', 'connect', [CompletionResultType]::ParameterValue, 'Get a grant from a provider: approve it in the browser, and keep its token on this computer')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Import your own exports into a store on this computer')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is connected, until when, and whether it works')
            [CompletionResult]::new('disconnect', 'disconnect', [CompletionResultType]::ParameterValue, 'End grants, and delete their tokens from this computer')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Show what is wrong, and what to type to fix it')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what agents read through this computer')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page (roff) of pdpp or of one of its commands')
            [CompletionResult]::new('mcp', 'mcp', [CompletionResultType]::ParameterValue, 'Serve the granted data to MCP hosts, and set those hosts up')
            [CompletionResult]::new('provider', 'provider', [CompletionResultType]::ParameterValue, 'Your own data on this computer: what the store has, what you granted, and how to end a grant')
            [CompletionResult]::new('sandbox', 'sandbox', [CompletionResultType]::ParameterValue, 'Run a PDPP provider on this computer, with made-up data')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;help;demo' {
            break
        }
        'pdpp;help;connect' {
            break
        }
        'pdpp;help;import' {
            break
        }
        'pdpp;help;status' {
            break
        }
        'pdpp;help;disconnect' {
            break
        }
        'pdpp;help;doctor' {
            break
        }
        'pdpp;help;log' {
            break
        }
        'pdpp;help;completions' {
            break
        }
        'pdpp;help;man' {
            break
        }
        'pdpp;help;mcp' {
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Serve a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one')
            break
        }
        'pdpp;help;mcp;serve' {
            break
        }
        'pdpp;help;mcp;setup' {
            break
        }
        'pdpp;help;mcp;inspect' {
            break
        }
        'pdpp;help;mcp;call' {
            break
        }
        'pdpp;help;mcp;host' {
            break
        }
        'pdpp;help;mcp;bundle' {
            break
        }
        'pdpp;help;provider' {
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is in the store of your own data, account by account, and how old it is')
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show the grants of your own data: who can read what, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: its token stops working at once')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read the file again to check that it is complete')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Restore a backup, if there is no store yet or an empty one')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: sources, grants, reads, imports and a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose or change the passphrase that every approval at `pdpp provider serve` needs')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user')
            break
        }
        'pdpp;help;provider;status' {
            break
        }
        'pdpp;help;provider;grants' {
            break
        }
        'pdpp;help;provider;revoke' {
            break
        }
        'pdpp;help;provider;forget' {
            break
        }
        'pdpp;help;provider;backup' {
            break
        }
        'pdpp;help;provider;restore' {
            break
        }
        'pdpp;help;provider;open' {
            break
        }
        'pdpp;help;provider;serve' {
            break
        }
        'pdpp;help;provider;passphrase' {
            break
        }
        'pdpp;help;provider;install' {
            break
        }
        'pdpp;help;provider;uninstall' {
            break
        }
        'pdpp;help;provider;prepare' {
            break
        }
        'pdpp;help;sandbox' {
            break
        }
        'pdpp;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
