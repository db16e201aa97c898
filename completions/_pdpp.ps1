
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
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('demo', 'demo', [CompletionResultType]::ParameterValue, 'See it work: an import, a grant and an agent''s questions, on this machine, in a second')
            [CompletionResult]::new('connect', 'connect', [CompletionResultType]::ParameterValue, 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Import your own exports into a store on this computer')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is connected, until when, and whether it works')
            [CompletionResult]::new('disconnect', 'disconnect', [CompletionResultType]::ParameterValue, 'End grants, and delete their tokens from this machine')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find out what is wrong, and what to type about it')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what agents read through this machine')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page (roff), of pdpp or of one of its commands')
            [CompletionResult]::new('mcp', 'mcp', [CompletionResultType]::ParameterValue, 'Offer the granted data to an MCP host')
            [CompletionResult]::new('provider', 'provider', [CompletionResultType]::ParameterValue, 'Your own data on this machine: what is there, what was granted of it, and how to end that')
            [CompletionResult]::new('sandbox', 'sandbox', [CompletionResultType]::ParameterValue, 'Run a PDPP provider on this computer, with fictional data')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;demo' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--full', '--full', [CompletionResultType]::ParameterName, 'Show every answer whole, instead of its first lines')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;connect' {
            [CompletionResult]::new('--flow', '--flow', [CompletionResultType]::ParameterName, 'How to get the grant [default: what the provider offers; a device code, where it has that, over SSH, in a container or without a display]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Stop waiting after so many seconds, 1 to 3600 [default: when the provider''s page ends]')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Call the grant this, instead of what its sources are called')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Where to keep the token; remembered [default: as before, else auto]')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Which one to renew: its id, the beginning of it, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--account', '--account', [CompletionResultType]::ParameterName, 'Tick this account beforehand: its id, or what it is called (repeatable)')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve only this host with the grant, by the entry that `pdpp mcp setup HOST` writes')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--source', '--source', [CompletionResultType]::ParameterName, 'Ask for this source, where the provider has several')
            [CompletionResult]::new('--instance', '--instance', [CompletionResultType]::ParameterName, 'Ask for this configured instance of the source (repeatable)')
            [CompletionResult]::new('--stream', '--stream', [CompletionResultType]::ParameterName, 'Ask for this stream only (repeatable)')
            [CompletionResult]::new('--field', '--field', [CompletionResultType]::ParameterName, 'Ask for this field of a stream only, and those that the stream requires (repeatable)')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Ask for records from this day on (2026-01-31, or a time in RFC 3339)')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Ask for records from before this day')
            [CompletionResult]::new('--expires', '--expires', [CompletionResultType]::ParameterName, 'Ask for access that ends then, or after a while (30d, 12h)')
            [CompletionResult]::new('--purpose', '--purpose', [CompletionResultType]::ParameterName, 'Say what the data is for: in words, or a purpose code (an https URI)')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--no-browser', '--no-browser', [CompletionResultType]::ParameterName, 'Open no browser; print an address of this machine, and the code that it asks for')
            [CompletionResult]::new('--renew', '--renew', [CompletionResultType]::ParameterName, 'Ask again for a grant that is on this machine, and replace it: the old one is ended at its provider')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('--in-terminal', '--in-terminal', [CompletionResultType]::ParameterName, 'Decide at this terminal, and open no page')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;import' {
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'Read it as this format; it is refused if it is another')
            [CompletionResult]::new('--account', '--account', [CompletionResultType]::ParameterName, 'Whose data it is: the name of the account')
            [CompletionResult]::new('--timezone', '--timezone', [CompletionResultType]::ParameterName, 'The time zone of times that name none, such as Europe/Oslo [default: the account''s, else this computer''s]')
            [CompletionResult]::new('--date-order', '--date-order', [CompletionResultType]::ParameterName, 'In which order numbers stand in dates: day, month, year')
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Leave out what is older than this day, YYYY-MM-DD, or than a time of it, YYYY-MM-DDTHH:MM')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where the store is [default: where it was last, else own/ in the cache directory]')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write what could not be read to this file, one JSON object a line; what could not before is tried again')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be imported, and change nothing')
            [CompletionResult]::new('--copy-attachments', '--copy-attachments', [CompletionResultType]::ParameterName, 'Keep copies of attachments in the store; without it they are read from the export, which has to stay where it is')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Import what the plan shows without asking')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;status' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Show only the grants of this provider')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Show only this grant: its id, the beginning of it, or its name')
            [CompletionResult]::new('--move-to', '--move-to', [CompletionResultType]::ParameterName, 'First move every token there: into the keyring, or into private files. New ones follow')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'Ask each provider whether the grant still works')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;disconnect' {
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Only this grant of them')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Everything that matches; without a match to make, everything')
            [CompletionResult]::new('--forget', '--forget', [CompletionResultType]::ParameterName, 'Delete here also what cannot be ended at its provider yet: its token cannot be read, or the provider is away')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal nothing is ended unless this says so')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal nothing is ended unless this says so')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object; asks nothing')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;doctor' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;log' {
            [CompletionResult]::new('--since', '--since', [CompletionResultType]::ParameterName, 'Only calls since then: 30m, 2h, 7d, a date (UTC) or a time')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Show at most this many, the newest')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object')
            [CompletionResult]::new('--off', '--off', [CompletionResultType]::ParameterName, 'Stop noting calls, in running servers too; it stays off until --on')
            [CompletionResult]::new('--on', '--on', [CompletionResultType]::ParameterName, 'Note calls again')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;completions' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;man' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp' {
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Offer the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Tell MCP hosts on this machine about pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views, and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Offer a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;mcp;serve' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Serve only the grants of this provider')
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve only what was granted for this host alone (`pdpp connect local --for`)')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--no-access-log', '--no-access-log', [CompletionResultType]::ParameterName, 'Keep no note of the calls (see `pdpp log`)')
            [CompletionResult]::new('--check-tokens', '--check-tokens', [CompletionResultType]::ParameterName, 'Only say, as one JSON object, whether the tokens can be read here; asks no provider')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;setup' {
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'What the entry is called')
            [CompletionResult]::new('--scope', '--scope', [CompletionResultType]::ParameterName, 'Whose config: yours, or the current directory''s, where the host reads one')
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'For chatgpt: the provider that it shall connect to [default: those that are connected]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Every host that is installed here')
            [CompletionResult]::new('--remove', '--remove', [CompletionResultType]::ParameterName, 'Take the entry out again')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would change, as a unified diff, and change nothing')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask nothing: an entry of that name may go that starts something else or serves certain grants only, and what a project''s entry sets may stay')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask nothing: an entry of that name may go that starts something else or serves certain grants only, and what a project''s entry sets may stay')
            [CompletionResult]::new('--print', '--print', [CompletionResultType]::ParameterName, 'Print the entry to paste (and an install link, where the host has one) and change nothing')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Put the file back as it was if the recorded command does not start')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print one JSON object: the plan and what came of it')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;inspect' {
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'Fail (exit code 1) if the tools array is larger than this')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'How long that server may take; one that is fetched first takes longer')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
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
            [CompletionResult]::new('--grant', '--grant', [CompletionResultType]::ParameterName, 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Serve only what was granted for this host alone (`pdpp connect local --for`)')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the whole result as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;host' {
            [CompletionResult]::new('--provider-url', '--provider-url', [CompletionResultType]::ParameterName, 'The provider')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen; port 0 takes a free one')
            [CompletionResult]::new('--public-url', '--public-url', [CompletionResultType]::ParameterName, 'Where clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]')
            [CompletionResult]::new('--trusted-host', '--trusted-host', [CompletionResultType]::ParameterName, 'Answer requests for this host too, beside the public URL''s own; again for more')
            [CompletionResult]::new('--allowed-origin', '--allowed-origin', [CompletionResultType]::ParameterName, 'Let pages of this origin call it; again for more [default: none]')
            [CompletionResult]::new('--introspection-file', '--introspection-file', [CompletionResultType]::ParameterName, 'Credentials for introspection: {"client_id":…,"client_secret":…}, mode 600')
            [CompletionResult]::new('--tls-cert', '--tls-cert', [CompletionResultType]::ParameterName, 'Do TLS here, with this certificate chain (PEM)')
            [CompletionResult]::new('--tls-key', '--tls-key', [CompletionResultType]::ParameterName, 'Its private key (PEM), mode 600')
            [CompletionResult]::new('--metrics-listen', '--metrics-listen', [CompletionResultType]::ParameterName, 'Serve counters in Prometheus'' format at /metrics here, apart from the endpoint')
            [CompletionResult]::new('--max-body-bytes', '--max-body-bytes', [CompletionResultType]::ParameterName, 'The longest message')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The most that either view of one result may take, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]')
            [CompletionResult]::new('--requests-per-minute', '--requests-per-minute', [CompletionResultType]::ParameterName, 'How often one bearer may ask, on average')
            [CompletionResult]::new('--max-concurrent-per-bearer', '--max-concurrent-per-bearer', [CompletionResultType]::ParameterName, 'Requests of one bearer at once')
            [CompletionResult]::new('--max-concurrent', '--max-concurrent', [CompletionResultType]::ParameterName, 'Requests at once')
            [CompletionResult]::new('--max-connections', '--max-connections', [CompletionResultType]::ParameterName, 'Connections at once; for one more the oldest goes that asks nothing')
            [CompletionResult]::new('--max-connections-per-address', '--max-connections-per-address', [CompletionResultType]::ParameterName, 'Connections at once from one address (IPv6: /64) [default: a quarter of --max-connections]')
            [CompletionResult]::new('--trusted-proxy', '--trusted-proxy', [CompletionResultType]::ParameterName, 'A proxy''s address, which that bound is not for; again for more. This machine''s own never has it')
            [CompletionResult]::new('--drain', '--drain', [CompletionResultType]::ParameterName, 'How long requests may still take after SIGTERM')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--introspection-keyring', '--introspection-keyring', [CompletionResultType]::ParameterName, 'Take them from the keyring instead')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;bundle' {
            [CompletionResult]::new('--connect', '--connect', [CompletionResultType]::ParameterName, 'The provider to connect, if it is not connected yet; or `local`, for your own data on this machine')
            [CompletionResult]::new('--import', '--import', [CompletionResultType]::ParameterName, 'A folder or file with an export of yours: to be imported, and to be granted, if none of your own data is yet')
            [CompletionResult]::new('--max-result-bytes', '--max-result-bytes', [CompletionResultType]::ParameterName, 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--no-access-log', '--no-access-log', [CompletionResultType]::ParameterName, 'Keep no note of the calls (see `pdpp log`)')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;mcp;help' {
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Offer the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Tell MCP hosts on this machine about pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views, and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Offer a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so')
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
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is in the store of your own data, account by account, and how old it is')
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show what was granted of your own data, to whom, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: from the next read on its token is good for nothing')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read it again to know that it is whole')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Make a store of a backup, where there is none or one with nothing in it')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'pdpp;provider;status' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;grants' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;revoke' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask nothing')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;forget' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask nothing')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask nothing')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;backup' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--encrypt', '--encrypt', [CompletionResultType]::ParameterName, 'Encrypt it with a passphrase, which is asked for at the terminal; `age -d` can open it too')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace the file if it is there already')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;restore' {
            [CompletionResult]::new('--called', '--called', [CompletionResultType]::ParameterName, 'What the person calls the file, where root has copied it')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;open' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--no-browser', '--no-browser', [CompletionResultType]::ParameterName, 'Open no browser; print an address of this machine, and the code that it asks for')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;serve' {
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen: a loopback address; port 0 takes a free one')
            [CompletionResult]::new('--public-url', '--public-url', [CompletionResultType]::ParameterName, 'The https address that others reach this by, through a proxy or tunnel: https:// and a host')
            [CompletionResult]::new('--public-listen', '--public-listen', [CompletionResultType]::ParameterName, 'Where that proxy or tunnel leads: another loopback address; what comes in there is from strangers')
            [CompletionResult]::new('--owner-socket', '--owner-socket', [CompletionResultType]::ParameterName, 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. For the separate set-up, whose unit has it')
            [CompletionResult]::new('--owner-uid', '--owner-uid', [CompletionResultType]::ParameterName, 'The user id of that person: only they and root are heard there')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--core', '--core', [CompletionResultType]::ParameterName, 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;passphrase' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;install' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The user whose data it is [default: whoever typed sudo]')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where the service listens: a loopback address [default: as before, else a free port]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Only show what would be made, the unit included')
            [CompletionResult]::new('--no-start', '--no-start', [CompletionResultType]::ParameterName, 'Make everything, and do not start the service: for containers and other systems without systemd')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask nothing but the passphrase')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask nothing but the passphrase')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;uninstall' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The user whose data it is [default: whoever typed sudo]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--delete-data', '--delete-data', [CompletionResultType]::ParameterName, 'Delete the data too, for good')
            [CompletionResult]::new('--keep-data', '--keep-data', [CompletionResultType]::ParameterName, 'Keep the data, and do not ask: it is in kept-UID beside where it was then')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Ask nothing; without --delete-data the data stays')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Ask nothing; without --delete-data the data stays')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;prepare' {
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Where your own data is [default: as before, else `own` beside the credentials]')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result, or the failure, as one JSON object')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;provider;help' {
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is in the store of your own data, account by account, and how old it is')
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show what was granted of your own data, to whom, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: from the next read on its token is good for nothing')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read it again to know that it is whole')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Make a store of a backup, where there is none or one with nothing in it')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user')
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
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to listen: a loopback address; port 0 takes a free one')
            [CompletionResult]::new('--data-dir', '--data-dir', [CompletionResultType]::ParameterName, 'Keep data, grants and clients in this directory [default: in memory]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Which fictional life to fill a new store with; the same number makes the same one')
            [CompletionResult]::new('--cache-dir', '--cache-dir', [CompletionResultType]::ParameterName, 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to log to stderr: off, error, warn or info; never a secret or record data')
            [CompletionResult]::new('--proxy', '--proxy', [CompletionResultType]::ParameterName, 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]')
            [CompletionResult]::new('--ca-file', '--ca-file', [CompletionResultType]::ParameterName, 'Trust the certificate authorities in this PEM file too')
            [CompletionResult]::new('--core', '--core', [CompletionResultType]::ParameterName, 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused')
            [CompletionResult]::new('--auto-approve', '--auto-approve', [CompletionResultType]::ParameterName, 'Approve every request without asking anybody, so that every program on this computer, other users'' too, gets a token; for tests')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Tell where it is as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'pdpp;help' {
            [CompletionResult]::new('demo', 'demo', [CompletionResultType]::ParameterValue, 'See it work: an import, a grant and an agent''s questions, on this machine, in a second')
            [CompletionResult]::new('connect', 'connect', [CompletionResultType]::ParameterValue, 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine')
            [CompletionResult]::new('import', 'import', [CompletionResultType]::ParameterValue, 'Import your own exports into a store on this computer')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show what is connected, until when, and whether it works')
            [CompletionResult]::new('disconnect', 'disconnect', [CompletionResultType]::ParameterValue, 'End grants, and delete their tokens from this machine')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find out what is wrong, and what to type about it')
            [CompletionResult]::new('log', 'log', [CompletionResultType]::ParameterValue, 'Show what agents read through this machine')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell completion script')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page (roff), of pdpp or of one of its commands')
            [CompletionResult]::new('mcp', 'mcp', [CompletionResultType]::ParameterValue, 'Offer the granted data to an MCP host')
            [CompletionResult]::new('provider', 'provider', [CompletionResultType]::ParameterValue, 'Your own data on this machine: what is there, what was granted of it, and how to end that')
            [CompletionResult]::new('sandbox', 'sandbox', [CompletionResultType]::ParameterValue, 'Run a PDPP provider on this computer, with fictional data')
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
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Offer the granted data to an MCP host, on stdin and stdout')
            [CompletionResult]::new('setup', 'setup', [CompletionResultType]::ParameterValue, 'Tell MCP hosts on this machine about pdpp, and prove that they can start it')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show the tools and what they cost a model''s context')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool and show what a host would get: both views, and their sizes')
            [CompletionResult]::new('host', 'host', [CompletionResultType]::ParameterValue, 'Offer a provider''s data to remote MCP hosts, over HTTP')
            [CompletionResult]::new('bundle', 'bundle', [CompletionResultType]::ParameterValue, 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so')
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
            [CompletionResult]::new('grants', 'grants', [CompletionResultType]::ParameterValue, 'Show what was granted of your own data, to whom, until when, and when it was last read')
            [CompletionResult]::new('revoke', 'revoke', [CompletionResultType]::ParameterValue, 'End a grant of your own data: from the next read on its token is good for nothing')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are')
            [CompletionResult]::new('backup', 'backup', [CompletionResultType]::ParameterValue, 'Write the store of your own data to one file, and read it again to know that it is whole')
            [CompletionResult]::new('restore', 'restore', [CompletionResultType]::ParameterValue, 'Make a store of a backup, where there is none or one with nothing in it')
            [CompletionResult]::new('open', 'open', [CompletionResultType]::ParameterValue, 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search')
            [CompletionResult]::new('serve', 'serve', [CompletionResultType]::ParameterValue, 'Serve your own data to programs that speak HTTP, on this computer')
            [CompletionResult]::new('passphrase', 'passphrase', [CompletionResultType]::ParameterValue, 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it')
            [CompletionResult]::new('install', 'install', [CompletionResultType]::ParameterValue, 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)')
            [CompletionResult]::new('uninstall', 'uninstall', [CompletionResultType]::ParameterValue, 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)')
            [CompletionResult]::new('prepare', 'prepare', [CompletionResultType]::ParameterValue, 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user')
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
