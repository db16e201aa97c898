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
complete -c pdpp -n "__fish_pdpp_needs_command" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_needs_command" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_needs_command" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_needs_command" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_needs_command" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "demo" -d 'See it work on this computer in about a second: an import, a grant and an agent\'s questions'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "connect" -d 'Get a grant from a provider: approve it in the browser, and keep its token on this computer'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "import" -d 'Import your own exports into a store on this computer'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "status" -d 'Show what is connected, until when, and whether it works'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "disconnect" -d 'End grants, and delete their tokens from this computer'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "doctor" -d 'Show what is wrong, and what to type to fix it'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "log" -d 'Show what agents read through this computer'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "completions" -d 'Print a shell completion script'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "man" -d 'Print a manual page (roff) of pdpp or of one of its commands'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "mcp" -d 'Serve the granted data to MCP hosts, and set those hosts up'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "provider" -d 'Your own data on this computer: what the store has, what you granted, and how to end a grant'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "sandbox" -d 'Run a PDPP provider on this computer, with made-up data'
complete -c pdpp -n "__fish_pdpp_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -l full -d 'Show every answer in full instead of its first lines'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand demo" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l flow -d 'How to get the grant [default: what the provider offers; over SSH, in a container or without a display, a device code if the provider has it]' -r -f -a "agent-connect\t'agent-connect: pdpp polls, and the owner decides about everything that the provider has'
par\t'A pushed request (RFC 9126), then agent-connect: for one source, or for less than everything'
authorization-code\t'Authorization code with PKCE: the browser on this computer returns with a code'
device-code\t'Device code (RFC 8628): the owner compares a code in a browser anywhere'"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l wait -d 'Stop waiting after this many seconds, 1 to 3600 [default: until the provider\'s page expires]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l name -d 'Give the grant this name [default: a name made from its sources]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l store -d 'Where to keep this token and later ones [default: the last choice, else auto]' -r -f -a "auto\t'The keyring; a file if there is no keyring, with a note'
keyring\t'Only the keyring'
file\t'A file that only you can read'"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l grant -d 'The grant to renew: its id, the beginning of its id, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l account -d 'Tick this account in advance: its id or its name (repeatable)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l for -d 'Serve the grant to this host only, through the entry that `pdpp mcp setup HOST` writes' -r -f -a "claude\t''
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
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l source -d 'Ask for this source, if the provider has several' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l instance -d 'Ask for this account of the source, by its instance id (repeatable)' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l stream -d 'Ask only for this stream (repeatable)' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l field -d 'Ask only for this field of a stream, and the fields that the stream requires (repeatable)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l since -d 'Ask only for records from this day on (2026-01-31, or an RFC 3339 time)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l until -d 'Ask only for records from before this day' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l expires -d 'Ask for access that ends at this time, or after this long (30d, 12h)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l purpose -d 'State what the data is for: in words, or as a purpose code (an https URI)' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l no-browser -d 'Do not open a browser; print an address on this computer, and the code that its page asks for'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l renew -d 'Ask again for a grant on this computer, and replace it; the old one is ended at its provider'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l while-stdin-is-open -d 'Stop when standard input ends; the parent process keeps it open'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -l in-terminal -d 'Decide at this terminal instead of on a page in the browser'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand connect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l as -d 'Read the files as this format, and refuse those that have a different one' -r -f -a "mbox\t''
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
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l timezone -d 'The time zone of times without one, such as Europe/Oslo [default: the account\'s, else this computer\'s]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l date-order -d 'The order of day, month and year in dates' -r -f -a "dmy\t''
mdy\t''
ymd\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l since -d 'Leave out what is older than this day, YYYY-MM-DD, or this time, YYYY-MM-DDTHH:MM' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l report -d 'Write what could not be read to this file, one JSON object per line, and try again what could not be read before' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l dry-run -d 'Show what would be imported, and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l copy-attachments -d 'Keep copies of attachments in the store; without this option they are read from the export, which must stay where it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l yes -d 'Import what the plan shows without asking'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l json -d 'Print the result as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -l while-stdin-is-open -d 'Stop when standard input ends; the parent process keeps it open'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand import" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l provider -d 'Show only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l grant -d 'Show only this grant: its id, the beginning of its id, or its name' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l move-to -d 'First move every token into the keyring or into private files; new tokens go there too' -r -f -a "keyring\t'The keyring of the user\'s session'
file\t'A private file in the cache directory'"
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l check -d 'Ask each provider whether the grant still works'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand status" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l grant -d 'Only this one of the matching grants' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l all -d 'All matching grants; if nothing else is named, all grants'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l forget -d 'Also delete here what cannot be ended at its provider yet: its token cannot be read, or the provider is unreachable'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s y -l yes -d 'Do not ask; required where there is no terminal to ask on'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -l json -d 'Print one JSON object; do not ask'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand disconnect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l since -d 'Only calls since this time: 30m, 2h, 7d, a date (UTC) or a time' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l limit -d 'Show at most this many calls, the newest ones' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l off -d 'Stop logging calls, in running servers too; it stays off until --on'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -l on -d 'Log calls again'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand log" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand completions" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand man" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "serve" -d 'Serve the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "setup" -d 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "call" -d 'Call one tool and show what a host would get: both views and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "host" -d 'Serve a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "bundle" -d 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and not __fish_seen_subcommand_from serve setup inspect call host bundle help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l provider -d 'Serve only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l grant -d 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l for -d 'Serve only what was granted to this host alone (`pdpp connect local --for`)' -r -f -a "claude\t''
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
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l max-result-bytes -d 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l no-access-log -d 'Do not log the calls (see `pdpp log`)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -l check-tokens -d 'Only report, as one JSON object, whether the tokens can be read here; contacts no provider'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l name -d 'The name of the entry' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l scope -d 'Whose config: yours, or the current directory\'s if the host reads one' -r -f -a "user\t''
project\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l provider -d 'For chatgpt: the provider to connect to [default: the connected ones]' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l all -d 'Every host that is installed here'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l remove -d 'Remove the entry'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l dry-run -d 'Show what would change, as a unified diff, and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s y -l yes -d 'Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain grants, and keep what a project\'s entry sets'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l print -d 'Print the entry to paste (and an install link, if the host has one) and change nothing'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l strict -d 'Restore the file if the recorded command does not start'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -l json -d 'Print one JSON object: the plan and the result'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from setup" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l budget -d 'Fail (exit code 1) if the tools array is larger than this' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l timeout -d 'How long the other server may take; allow more for one that is downloaded first' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -l json -d 'Print one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from inspect" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l view -d 'Show only one view' -r -f -a "text\t''
structured\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l provider -d 'Serve only the grants of this provider' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l grant -d 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l for -d 'Serve only what was granted to this host alone (`pdpp connect local --for`)' -r -f -a "claude\t''
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
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l max-result-bytes -d 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -l json -d 'Print the whole result as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from call" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l provider-url -d 'The provider whose data to offer' -r -f -a '(__pdpp_values)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l listen -d 'The address to listen on; port 0 picks a free port' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l public-url -d 'The URL at which clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l trusted-host -d 'Also answer requests whose Host is this name, in addition to the public URL\'s; repeat for more' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l allowed-origin -d 'Let pages of this origin call the endpoint; repeat for more [default: none]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l introspection-file -d 'The file with the credentials for introspection: {"client_id":…,"client_secret":…}, mode 600' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l tls-cert -d 'Serve TLS here, with this certificate chain (PEM)' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l tls-key -d 'The certificate\'s private key (PEM), mode 600' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l metrics-listen -d 'Serve counters in Prometheus\' format at /metrics on this address, separately from the endpoint' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-body-bytes -d 'The maximum size of a request\'s body' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-result-bytes -d 'The maximum size of either view of one result, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l requests-per-minute -d 'Requests per minute with one bearer token, on average' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-concurrent-per-bearer -d 'Concurrent requests with one bearer token' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-concurrent -d 'Concurrent requests in total' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-connections -d 'Concurrent connections; a further one closes the oldest idle one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l max-connections-per-address -d 'Concurrent connections from one address (IPv6: /64) [default: a quarter of --max-connections]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l trusted-proxy -d 'A proxy\'s address, which is exempt from the limit per address, as this computer\'s own addresses are; repeat for more' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l drain -d 'How long running requests may take after SIGTERM' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l introspection-keyring -d 'Read the introspection credentials from the keyring instead'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -l json -d 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from host" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l connect -d 'The provider to connect, if it is not connected yet; or `local`, for your own data on this computer' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l import -d 'A folder or file with your export: import it and ask for a grant, if none of your own data is granted yet' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l max-result-bytes -d 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -l no-access-log -d 'Do not log the calls (see `pdpp log`)'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from bundle" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Serve the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "setup" -d 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "call" -d 'Call one tool and show what a host would get: both views and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "host" -d 'Serve a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "bundle" -d 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
complete -c pdpp -n "__fish_pdpp_using_subcommand mcp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "grants" -d 'Show the grants of your own data: who can read what, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "revoke" -d 'End a grant of your own data: its token stops working at once'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "forget" -d 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "backup" -d 'Write the store of your own data to one file, and read the file again to check that it is complete'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "restore" -d 'Restore a backup, if there is no store yet or an empty one'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "open" -d 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "passphrase" -d 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "uninstall" -d 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "prepare" -d 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store\'s own user'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and not __fish_seen_subcommand_from status grants revoke forget backup restore open serve passphrase install uninstall prepare help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from grants" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s y -l yes -d 'Do not ask'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s y -l yes -d 'Do not ask'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from forget" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l encrypt -d 'Encrypt it with a passphrase that you type at the terminal; `age -d` can open it too'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l overwrite -d 'Replace the file if it exists'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from backup" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l called -d 'The person\'s name for the file, if root has copied it' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from restore" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l no-browser -d 'Do not open a browser; print an address on this computer, and the code that it asks for'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from open" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l listen -d 'Where to listen: a loopback address; port 0 picks a free one' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l public-url -d 'The https address at which others reach this, through a proxy or tunnel: https:// and a host' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l public-listen -d 'Where that proxy or tunnel forwards to: a second loopback address, for requests from outside this computer' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l owner-socket -d 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. The unit of the separate set-up uses this' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l owner-uid -d 'The user id of that person: the socket answers only them and root' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l core -d 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from serve" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from passphrase" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l for -d 'The user whose data it is [default: the user who typed sudo]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l listen -d 'Where the service listens: a loopback address [default: its present address, else a free port]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l dry-run -d 'Only show what would be created, including the unit'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l no-start -d 'Create everything, but do not start the service: for containers and other systems without systemd'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s y -l yes -d 'Ask only for the passphrase'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l for -d 'The user whose data it is [default: the user who typed sudo]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l delete-data -d 'Delete the data too, permanently'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l keep-data -d 'Keep the data, and do not ask: it moves to kept-UID next to its old place'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s y -l yes -d 'Do not ask; without --delete-data the data stays'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from uninstall" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l data-dir -d 'Where your own data is [default: the directory named last, else `own` next to the credentials]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -l json -d 'Print the result, or the failure, as one JSON object'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -s h -l help -d 'Print help'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from prepare" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "grants" -d 'Show the grants of your own data: who can read what, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'End a grant of your own data: its token stops working at once'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "forget" -d 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "backup" -d 'Write the store of your own data to one file, and read the file again to check that it is complete'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Restore a backup, if there is no store yet or an empty one'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "open" -d 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "passphrase" -d 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "prepare" -d 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store\'s own user'
complete -c pdpp -n "__fish_pdpp_using_subcommand provider; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l listen -d 'Where to listen: a loopback address. Port 0 picks a free port' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l data-dir -d 'Keep data, grants and clients in this directory [default: in memory]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l seed -d 'The seed for the made-up data of a new store. The same seed always makes the same data' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l cache-dir -d 'Where credentials are kept [default: the platform\'s data directory, e.g. ~/.local/share/pdpp]' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l log-level -d 'How much to log to stderr: off, error, warn or info; never secrets or record data' -r -f -a "off\t''
error\t''
warn\t''
info\t''"
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l proxy -d 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]' -r -f
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l ca-file -d 'Also trust the certificate authorities in this PEM file' -r -F
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l core -d 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l auto-approve -d 'For tests: approve every request without asking. Every program on this computer then gets a token, other users\' programs too'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -l json -d 'Print where it listens as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c pdpp -n "__fish_pdpp_using_subcommand sandbox" -s V -l version -d 'Print version'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "demo" -d 'See it work on this computer in about a second: an import, a grant and an agent\'s questions'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "connect" -d 'Get a grant from a provider: approve it in the browser, and keep its token on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "import" -d 'Import your own exports into a store on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "status" -d 'Show what is connected, until when, and whether it works'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "disconnect" -d 'End grants, and delete their tokens from this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "doctor" -d 'Show what is wrong, and what to type to fix it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "log" -d 'Show what agents read through this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "completions" -d 'Print a shell completion script'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "man" -d 'Print a manual page (roff) of pdpp or of one of its commands'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "mcp" -d 'Serve the granted data to MCP hosts, and set those hosts up'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "provider" -d 'Your own data on this computer: what the store has, what you granted, and how to end a grant'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "sandbox" -d 'Run a PDPP provider on this computer, with made-up data'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and not __fish_seen_subcommand_from demo connect import status disconnect doctor log completions man mcp provider sandbox help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "serve" -d 'Serve the granted data to an MCP host, on stdin and stdout'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "setup" -d 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "inspect" -d 'Show the tools and what they cost a model\'s context'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "call" -d 'Call one tool and show what a host would get: both views and their sizes'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "host" -d 'Serve a provider\'s data to remote MCP hosts, over HTTP'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from mcp" -f -a "bundle" -d 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "status" -d 'Show what is in the store of your own data, account by account, and how old it is'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "grants" -d 'Show the grants of your own data: who can read what, until when, and when it was last read'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "revoke" -d 'End a grant of your own data: its token stops working at once'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "forget" -d 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "backup" -d 'Write the store of your own data to one file, and read the file again to check that it is complete'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "restore" -d 'Restore a backup, if there is no store yet or an empty one'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "open" -d 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "serve" -d 'Serve your own data to programs that speak HTTP, on this computer'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "passphrase" -d 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "install" -d 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "uninstall" -d 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
complete -c pdpp -n "__fish_pdpp_using_subcommand help; and __fish_seen_subcommand_from provider" -f -a "prepare" -d 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store\'s own user'

# `pdpp __complete` supplies the values that only this machine knows. A provider may have chosen these values, so they
# are data: fish quotes them, and nothing evaluates them.
function __pdpp_values
    set -l words (commandline -opc) (commandline -ct)
    command pdpp __complete -- $words[2..-1] 2>/dev/null </dev/null
end
complete -c pdpp -n 'count (__pdpp_values) >/dev/null' -f -a '(__pdpp_values)'
