# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pdpp_global_optspecs
    string join \n cache-dir= log-level= proxy= ca-file= h/help V/version
end

function __fish_pdpp_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pdpp_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pdpp_using_subcommand
    set -l cmd (__fish_pdpp_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pdpp -n "__fish_pdpp_needs_command" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_needs_command" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_needs_command" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_needs_command" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_needs_command" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_needs_command" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "demo" -d 'See it work: an import, a grant and an agent\'s questions, on this machine, in a second'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "connect" -d 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "import" -d 'Import your own exports into a store on this computer'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "status" -d 'Show what is connected, until when, and whether it works'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "disconnect" -d 'End grants, and delete their tokens from this machine'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "doctor" -d 'Find out what is wrong, and what to type about it'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "log" -d 'Show what agents read through this machine'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "completions" -d 'Print a shell completion script'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "man" -d 'Print a manual page (roff), of pdpp or of one of its commands'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "mcp" -d 'Offer the granted data to an MCP host'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "provider" -d 'Your own data on this machine: what is there, what was granted of it, and how to end that'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "sandbox" -d 'Run a PDPP provider on this computer, with fictional data'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l full -d 'Show every answer whole, instead of its first lines'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l flow -d 'How to get the grant [default: what the provider offers; a device code, where it has that, over SSH, in a container or without a display]' -r -f -a "agent-connect\t'agent-connect: this program polls, the owner decides about all that the provider has'
par\t'A pushed request (RFC 9126), then agent-connect: for one source, or less than all'
authorization-code\t'Authorization code with PKCE: the browser on this computer comes back with a code'
device-code\t'Device code (RFC 8628): the owner compares a code in a browser anywhere'"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l wait -d 'Stop waiting after so many seconds, 1 to 3600 [default: when the provider\'s page ends]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l name -d 'Call the grant this, instead of what its sources are called' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l store -d 'Where to keep the token; remembered [default: as before, else auto]' -r -f -a "auto\t'The keyring; where there is none, a file, and it says so'
keyring\t'The keyring and nothing else'
file\t'A file that only you can read'"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l grant -d 'Which one to renew: its id, the beginning of it, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l account -d 'Tick this account beforehand: its id, or what it is called (repeatable)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l for -d 'Serve only this host with the grant, by the entry that `pdpp mcp setup HOST` writes' -r -f -a "claude\t''
claude-desktop\t''
codex\t''
cursor\t''
vscode\t''
windsurf\t''
zed\t''
gemini\t''
opencode\t''
copilot\t''
goose\t''
lmstudio\t''
cline\t''
kiro\t''
amp\t''
qwen\t''
antigravity\t''
junie\t''
warp\t''
crush\t''
amazon-q\t''
continue\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l source -d 'Ask for this source, where the provider has several' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l instance -d 'Ask for this configured instance of the source (repeatable)' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l stream -d 'Ask for this stream only (repeatable)' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l field -d 'Ask for this field of a stream only, and those that the stream requires (repeatable)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l since -d 'Ask for records from this day on (2026-01-31, or a time in RFC 3339)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l until -d 'Ask for records from before this day' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l expires -d 'Ask for access that ends then, or after a while (30d, 12h)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l purpose -d 'Say what the data is for: in words, or a purpose code (an https URI)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l no-browser -d 'Open no browser; print an address of this machine, and the code that it asks for'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l renew -d 'Ask again for a grant that is on this machine, and replace it: the old one is ended at its provider'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l in-terminal -d 'Decide at this terminal, and open no page'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l as -d 'Read it as this format; it is refused if it is another' -r -f -a "mbox\t''
maildir\t''
emlx\t''
eml\t''
pst\t''
whatsapp\t''
telegram\t''
slack\t''
meta\t''
x\t''
ical\t''
vcard\t''
ofx\t''
qif\t''
bank-csv\t''
chatgpt\t''
claude\t''
claude-code\t''
codex\t''
spotify\t''
takeout-activity\t''
location\t''
browser\t''
apple-health\t''
notes\t''
csv\t''
jsonl\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l account -d 'Whose data it is: the name of the account' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l timezone -d 'The time zone of times that name none, such as Europe/Oslo [default: the account\'s, else this computer\'s]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l date-order -d 'In which order numbers stand in dates: day, month, year' -r -f -a "dmy\t''
mdy\t''
ymd\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l since -d 'Leave out what is older than this day, YYYY-MM-DD, or than a time of it, YYYY-MM-DDTHH:MM' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l data-dir -d 'Where the store is [default: where it was last, else own/ in the cache directory]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l report -d 'Write what could not be read to this file, one JSON object a line; what could not before is tried again' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l dry-run -d 'Show what would be imported, and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l copy-attachments -d 'Keep copies of attachments in the store; without it they are read from the export, which has to stay where it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l yes -d 'Import what the plan shows without asking'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l json -d 'Print the result as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l provider -d 'Show only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l grant -d 'Show only this grant: its id, the beginning of it, or its name' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l move-to -d 'First move every token there: into the keyring, or into private files. New ones follow' -r -f -a "keyring\t'The keyring of the user\'s session'
file\t'A private file in the cache directory'"
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l check -d 'Ask each provider whether the grant still works'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l grant -d 'Only this grant of them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l all -d 'Everything that matches; without a match to make, everything'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l forget -d 'Delete here also what cannot be ended at its provider yet: its token cannot be read, or the provider is away'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s y -l yes -d 'Do not ask; without a terminal nothing is ended unless this says so'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l json -d 'Print one JSON object; asks nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l since -d 'Only calls since then: 30m, 2h, 7d, a date (UTC) or a time' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l limit -d 'Show at most this many, the newest' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l off -d 'Stop noting calls, in running servers too; it stays off until --on'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l on -d 'Note calls again'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "serve" -d 'Offer the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "setup" -d 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "call" -d 'Call one tool and show what a host would get: both views, and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "host" -d 'Offer a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "bundle" -d 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l provider -d 'Serve only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l grant -d 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l for -d 'Serve only what was granted for this host alone (`pdpp connect local --for`)' -r -f -a "claude\t''
claude-desktop\t''
codex\t''
cursor\t''
vscode\t''
windsurf\t''
zed\t''
gemini\t''
opencode\t''
copilot\t''
goose\t''
lmstudio\t''
cline\t''
kiro\t''
amp\t''
qwen\t''
antigravity\t''
junie\t''
warp\t''
crush\t''
amazon-q\t''
continue\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l max-result-bytes -d 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l no-access-log -d 'Keep no note of the calls (see `pdpp log`)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l check-tokens -d 'Only say, as one JSON object, whether the tokens can be read here; asks no provider'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l name -d 'What the entry is called' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l scope -d 'Whose config: yours, or the current directory\'s, where the host reads one' -r -f -a "user\t''
project\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l provider -d 'For chatgpt: the provider that it shall connect to [default: those that are connected]' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l all -d 'Every host that is installed here'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l remove -d 'Take the entry out again'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l dry-run -d 'Show what would change, as a unified diff, and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s y -l yes -d 'Ask nothing: an entry of that name may go that starts something else or serves certain grants only, and what a project\'s entry sets may stay'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l print -d 'Print the entry to paste (and an install link, where the host has one) and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l strict -d 'Put the file back as it was if the recorded command does not start'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l json -d 'Print one JSON object: the plan and what came of it'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l budget -d 'Fail (exit code 1) if the tools array is larger than this' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l timeout -d 'How long that server may take; one that is fetched first takes longer' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l view -d 'Show only one view' -r -f -a "text\t''
structured\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l provider -d 'Serve only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l grant -d 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l for -d 'Serve only what was granted for this host alone (`pdpp connect local --for`)' -r -f -a "claude\t''
claude-desktop\t''
codex\t''
cursor\t''
vscode\t''
windsurf\t''
zed\t''
gemini\t''
opencode\t''
copilot\t''
goose\t''
lmstudio\t''
cline\t''
kiro\t''
amp\t''
qwen\t''
antigravity\t''
junie\t''
warp\t''
crush\t''
amazon-q\t''
continue\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l max-result-bytes -d 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l json -d 'Print the whole result as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l provider-url -d 'The provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l listen -d 'Where to listen; port 0 takes a free one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l public-url -d 'Where clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l trusted-host -d 'Answer requests for this host too, beside the public URL\'s own; again for more' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l allowed-origin -d 'Let pages of this origin call it; again for more [default: none]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l introspection-file -d 'Credentials for introspection: {"client_id":…,"client_secret":…}, mode 600' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l tls-cert -d 'Do TLS here, with this certificate chain (PEM)' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l tls-key -d 'Its private key (PEM), mode 600' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l metrics-listen -d 'Serve counters in Prometheus\' format at /metrics here, apart from the endpoint' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-body-bytes -d 'The longest message' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-result-bytes -d 'The most that either view of one result may take, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l requests-per-minute -d 'How often one bearer may ask, on average' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-concurrent-per-bearer -d 'Requests of one bearer at once' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-concurrent -d 'Requests at once' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-connections -d 'Connections at once; for one more the oldest goes that asks nothing' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-connections-per-address -d 'Connections at once from one address (IPv6: /64) [default: a quarter of --max-connections]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l trusted-proxy -d 'A proxy\'s address, which that bound is not for; again for more. This machine\'s own never has it' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l drain -d 'How long requests may still take after SIGTERM' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l introspection-keyring -d 'Take them from the keyring instead'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l json -d 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l connect -d 'The provider to connect, if it is not connected yet; or `local`, for your own data on this machine' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l import -d 'A folder or file with an export of yours: to be imported, and to be granted, if none of your own data is yet' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l max-result-bytes -d 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l no-access-log -d 'Keep no note of the calls (see `pdpp log`)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Offer the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "setup" -d 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "call" -d 'Call one tool and show what a host would get: both views, and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "host" -d 'Offer a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "bundle" -d 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "grants" -d 'Show what was granted of your own data, to whom, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "revoke" -d 'End a grant of your own data: from the next read on its token is good for nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "forget" -d 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "backup" -d 'Write the store of your own data to one file, and read it again to know that it is whole'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "restore" -d 'Make a store of a backup, where there is none or one with nothing in it'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "open" -d 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "passphrase" -d 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "uninstall" -d 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "prepare" -d 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store\'s own user'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s y -l yes -d 'Ask nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s y -l yes -d 'Ask nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l encrypt -d 'Encrypt it with a passphrase, which is asked for at the terminal; `age -d` can open it too'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l overwrite -d 'Replace the file if it is there already'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l called -d 'What the person calls the file, where root has copied it' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l no-browser -d 'Open no browser; print an address of this machine, and the code that it asks for'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l listen -d 'Where to listen: a loopback address; port 0 takes a free one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l public-url -d 'The https address that others reach this by, through a proxy or tunnel: https:// and a host' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l public-listen -d 'Where that proxy or tunnel leads: another loopback address; what comes in there is from strangers' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l owner-socket -d 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. For the separate set-up, whose unit has it' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l owner-uid -d 'The user id of that person: only they and root are heard there' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l core -d 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l for -d 'The user whose data it is [default: whoever typed sudo]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l listen -d 'Where the service listens: a loopback address [default: as before, else a free port]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l dry-run -d 'Only show what would be made, the unit included'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l no-start -d 'Make everything, and do not start the service: for containers and other systems without systemd'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s y -l yes -d 'Ask nothing but the passphrase'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l for -d 'The user whose data it is [default: whoever typed sudo]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l delete-data -d 'Delete the data too, for good'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l keep-data -d 'Keep the data, and do not ask: it is in kept-UID beside where it was then'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s y -l yes -d 'Ask nothing; without --delete-data the data stays'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l data-dir -d 'Where your own data is [default: as before, else `own` beside the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "grants" -d 'Show what was granted of your own data, to whom, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'End a grant of your own data: from the next read on its token is good for nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "forget" -d 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Write the store of your own data to one file, and read it again to know that it is whole'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Make a store of a backup, where there is none or one with nothing in it'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "open" -d 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "passphrase" -d 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "prepare" -d 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store\'s own user'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l listen -d 'Where to listen: a loopback address; port 0 takes a free one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l data-dir -d 'Keep data, grants and clients in this directory [default: in memory]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l seed -d 'Which fictional life to fill a new store with; the same number makes the same one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l log-level -d 'How much to log to stderr: off, error, warn or info; never a secret or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l ca-file -d 'Trust the certificate authorities in this PEM file too' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l core -d 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l auto-approve -d 'Approve every request without asking anybody, so that every program on this computer, other users\' too, gets a token; for tests'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l json -d 'Tell where it is as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "demo" -d 'See it work: an import, a grant and an agent\'s questions, on this machine, in a second'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "connect" -d 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "import" -d 'Import your own exports into a store on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "status" -d 'Show what is connected, until when, and whether it works'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "disconnect" -d 'End grants, and delete their tokens from this machine'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "doctor" -d 'Find out what is wrong, and what to type about it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "log" -d 'Show what agents read through this machine'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "completions" -d 'Print a shell completion script'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "man" -d 'Print a manual page (roff), of pdpp or of one of its commands'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "mcp" -d 'Offer the granted data to an MCP host'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "provider" -d 'Your own data on this machine: what is there, what was granted of it, and how to end that'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "sandbox" -d 'Run a PDPP provider on this computer, with fictional data'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "serve" -d 'Offer the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "setup" -d 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "call" -d 'Call one tool and show what a host would get: both views, and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "host" -d 'Offer a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "bundle" -d 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "grants" -d 'Show what was granted of your own data, to whom, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "revoke" -d 'End a grant of your own data: from the next read on its token is good for nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "forget" -d 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "backup" -d 'Write the store of your own data to one file, and read it again to know that it is whole'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "restore" -d 'Make a store of a backup, where there is none or one with nothing in it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "open" -d 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "passphrase" -d 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "uninstall" -d 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "prepare" -d 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store\'s own user'

# Values that only this machine knows come from `pdpp __complete`. They are data that a provider may have chosen: fish
# quotes them, nothing evaluates them.
function __pdpp_values
    set -l words (commandline -opc) (commandline -ct)
    command pdpp __complete -- $words[2..-1] 2>/dev/null </dev/null
end
complete -c pdpp -n 'count (__pdpp_values) >/dev/null' -f -a '(__pdpp_values)'
