
use builtin;
use str;

set edit:completion:arg-completer[pdpp] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'pdpp'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'pdpp'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand demo 'See it work on this computer in about a second: an import, a grant and an agent''s questions'
            cand connect 'Get a grant from a provider: approve it in the browser, and keep its token on this computer'
            cand import 'Import your own exports into a store on this computer'
            cand status 'Show what is connected, until when, and whether it works'
            cand disconnect 'End grants, and delete their tokens from this computer'
            cand doctor 'Show what is wrong, and what to type to fix it'
            cand log 'Show what agents read through this computer'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff) of pdpp or of one of its commands'
            cand mcp 'Serve the granted data to MCP hosts, and set those hosts up'
            cand provider 'Your own data on this computer: what the store has, what you granted, and how to end a grant'
            cand sandbox 'Run a PDPP provider on this computer, with made-up data'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;demo'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --full 'Show every answer in full instead of its first lines'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;connect'= {
            cand --flow 'How to get the grant [default: what the provider offers; over SSH, in a container or without a display, a device code if the provider has it]'
            cand --wait 'Stop waiting after this many seconds, 1 to 3600 [default: until the provider''s page expires]'
            cand --name 'Give the grant this name [default: a name made from its sources]'
            cand --store 'Where to keep this token and later ones [default: the last choice, else auto]'
            cand --grant 'The grant to renew: its id, the beginning of its id, or its name, as `pdpp status` shows them'
            cand --account 'Tick this account in advance: its id or its name (repeatable)'
            cand --for 'Serve the grant to this host only, through the entry that `pdpp mcp setup HOST` writes'
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --source 'Ask for this source, if the provider has several'
            cand --instance 'Ask for this account of the source, by its instance id (repeatable)'
            cand --stream 'Ask only for this stream (repeatable)'
            cand --field 'Ask only for this field of a stream, and the fields that the stream requires (repeatable)'
            cand --since 'Ask only for records from this day on (2026-01-31, or an RFC 3339 time)'
            cand --until 'Ask only for records from before this day'
            cand --expires 'Ask for access that ends at this time, or after this long (30d, 12h)'
            cand --purpose 'State what the data is for: in words, or as a purpose code (an https URI)'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --no-browser 'Do not open a browser; print an address on this computer, and the code that its page asks for'
            cand --renew 'Ask again for a grant on this computer, and replace it; the old one is ended at its provider'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand --while-stdin-is-open 'Stop when standard input ends; the parent process keeps it open'
            cand --in-terminal 'Decide at this terminal instead of on a page in the browser'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;import'= {
            cand --as 'Read the files as this format, and refuse those that have a different one'
            cand --account 'Whose data it is: the name of the account'
            cand --timezone 'The time zone of times without one, such as Europe/Oslo [default: the account''s, else this computer''s]'
            cand --date-order 'The order of day, month and year in dates'
            cand --since 'Leave out what is older than this day, YYYY-MM-DD, or this time, YYYY-MM-DDTHH:MM'
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --report 'Write what could not be read to this file, one JSON object per line, and try again what could not be read before'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --dry-run 'Show what would be imported, and change nothing'
            cand --copy-attachments 'Keep copies of attachments in the store; without this option they are read from the export, which must stay where it is'
            cand --yes 'Import what the plan shows without asking'
            cand --json 'Print the result as one JSON object'
            cand --while-stdin-is-open 'Stop when standard input ends; the parent process keeps it open'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;status'= {
            cand --provider 'Show only the grants of this provider'
            cand --grant 'Show only this grant: its id, the beginning of its id, or its name'
            cand --move-to 'First move every token into the keyring or into private files; new tokens go there too'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --check 'Ask each provider whether the grant still works'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;disconnect'= {
            cand --grant 'Only this one of the matching grants'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --all 'All matching grants; if nothing else is named, all grants'
            cand --forget 'Also delete here what cannot be ended at its provider yet: its token cannot be read, or the provider is unreachable'
            cand -y 'Do not ask; required where there is no terminal to ask on'
            cand --yes 'Do not ask; required where there is no terminal to ask on'
            cand --json 'Print one JSON object; do not ask'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;doctor'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;log'= {
            cand --since 'Only calls since this time: 30m, 2h, 7d, a date (UTC) or a time'
            cand --limit 'Show at most this many calls, the newest ones'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print one JSON object'
            cand --off 'Stop logging calls, in running servers too; it stays off until --on'
            cand --on 'Log calls again'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;completions'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;man'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand serve 'Serve the granted data to an MCP host, on stdin and stdout'
            cand setup 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views and their sizes'
            cand host 'Serve a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;mcp;serve'= {
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them'
            cand --for 'Serve only what was granted to this host alone (`pdpp connect local --for`)'
            cand --max-result-bytes 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --no-access-log 'Do not log the calls (see `pdpp log`)'
            cand --check-tokens 'Only report, as one JSON object, whether the tokens can be read here; contacts no provider'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;setup'= {
            cand --name 'The name of the entry'
            cand --scope 'Whose config: yours, or the current directory''s if the host reads one'
            cand --provider 'For chatgpt: the provider to connect to [default: the connected ones]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --all 'Every host that is installed here'
            cand --remove 'Remove the entry'
            cand --dry-run 'Show what would change, as a unified diff, and change nothing'
            cand -y 'Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain grants, and keep what a project''s entry sets'
            cand --yes 'Do not ask: replace or remove an entry of that name even if it starts something else or serves only certain grants, and keep what a project''s entry sets'
            cand --print 'Print the entry to paste (and an install link, if the host has one) and change nothing'
            cand --strict 'Restore the file if the recorded command does not start'
            cand --json 'Print one JSON object: the plan and the result'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;inspect'= {
            cand --budget 'Fail (exit code 1) if the tools array is larger than this'
            cand --timeout 'How long the other server may take; allow more for one that is downloaded first'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;call'= {
            cand --view 'Show only one view'
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them'
            cand --for 'Serve only what was granted to this host alone (`pdpp connect local --for`)'
            cand --max-result-bytes 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the whole result as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;host'= {
            cand --provider-url 'The provider whose data to offer'
            cand --listen 'The address to listen on; port 0 picks a free port'
            cand --public-url 'The URL at which clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]'
            cand --trusted-host 'Also answer requests whose Host is this name, in addition to the public URL''s; repeat for more'
            cand --allowed-origin 'Let pages of this origin call the endpoint; repeat for more [default: none]'
            cand --introspection-file 'The file with the credentials for introspection: {"client_id":…,"client_secret":…}, mode 600'
            cand --tls-cert 'Serve TLS here, with this certificate chain (PEM)'
            cand --tls-key 'The certificate''s private key (PEM), mode 600'
            cand --metrics-listen 'Serve counters in Prometheus'' format at /metrics on this address, separately from the endpoint'
            cand --max-body-bytes 'The maximum size of a request''s body'
            cand --max-result-bytes 'The maximum size of either view of one result, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]'
            cand --requests-per-minute 'Requests per minute with one bearer token, on average'
            cand --max-concurrent-per-bearer 'Concurrent requests with one bearer token'
            cand --max-concurrent 'Concurrent requests in total'
            cand --max-connections 'Concurrent connections; a further one closes the oldest idle one'
            cand --max-connections-per-address 'Concurrent connections from one address (IPv6: /64) [default: a quarter of --max-connections]'
            cand --trusted-proxy 'A proxy''s address, which is exempt from the limit per address, as this computer''s own addresses are; repeat for more'
            cand --drain 'How long running requests may take after SIGTERM'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --introspection-keyring 'Read the introspection credentials from the keyring instead'
            cand --json 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;bundle'= {
            cand --connect 'The provider to connect, if it is not connected yet; or `local`, for your own data on this computer'
            cand --import 'A folder or file with your export: import it and ask for a grant, if none of your own data is granted yet'
            cand --max-result-bytes 'The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --no-access-log 'Do not log the calls (see `pdpp log`)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;help'= {
            cand serve 'Serve the granted data to an MCP host, on stdin and stdout'
            cand setup 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views and their sizes'
            cand host 'Serve a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;mcp;help;serve'= {
        }
        &'pdpp;mcp;help;setup'= {
        }
        &'pdpp;mcp;help;inspect'= {
        }
        &'pdpp;mcp;help;call'= {
        }
        &'pdpp;mcp;help;host'= {
        }
        &'pdpp;mcp;help;bundle'= {
        }
        &'pdpp;mcp;help;help'= {
        }
        &'pdpp;provider'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand status 'Show what is in the store of your own data, account by account, and how old it is'
            cand grants 'Show the grants of your own data: who can read what, until when, and when it was last read'
            cand revoke 'End a grant of your own data: its token stops working at once'
            cand forget 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read the file again to check that it is complete'
            cand restore 'Restore a backup, if there is no store yet or an empty one'
            cand open 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
            cand install 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
            cand uninstall 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
            cand prepare 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;provider;status'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;grants'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;revoke'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -y 'Do not ask'
            cand --yes 'Do not ask'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;forget'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand -y 'Do not ask'
            cand --yes 'Do not ask'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;backup'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --encrypt 'Encrypt it with a passphrase that you type at the terminal; `age -d` can open it too'
            cand --overwrite 'Replace the file if it exists'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;restore'= {
            cand --called 'The person''s name for the file, if root has copied it'
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;open'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --no-browser 'Do not open a browser; print an address on this computer, and the code that it asks for'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;serve'= {
            cand --listen 'Where to listen: a loopback address; port 0 picks a free one'
            cand --public-url 'The https address at which others reach this, through a proxy or tunnel: https:// and a host'
            cand --public-listen 'Where that proxy or tunnel forwards to: a second loopback address, for requests from outside this computer'
            cand --owner-socket 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. The unit of the separate set-up uses this'
            cand --owner-uid 'The user id of that person: the socket answers only them and root'
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --core 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;passphrase'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;install'= {
            cand --for 'The user whose data it is [default: the user who typed sudo]'
            cand --listen 'Where the service listens: a loopback address [default: its present address, else a free port]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --dry-run 'Only show what would be created, including the unit'
            cand --no-start 'Create everything, but do not start the service: for containers and other systems without systemd'
            cand -y 'Ask only for the passphrase'
            cand --yes 'Ask only for the passphrase'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;uninstall'= {
            cand --for 'The user whose data it is [default: the user who typed sudo]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --delete-data 'Delete the data too, permanently'
            cand --keep-data 'Keep the data, and do not ask: it moves to kept-UID next to its old place'
            cand -y 'Do not ask; without --delete-data the data stays'
            cand --yes 'Do not ask; without --delete-data the data stays'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;prepare'= {
            cand --data-dir 'Where your own data is [default: the directory named last, else `own` next to the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;help'= {
            cand status 'Show what is in the store of your own data, account by account, and how old it is'
            cand grants 'Show the grants of your own data: who can read what, until when, and when it was last read'
            cand revoke 'End a grant of your own data: its token stops working at once'
            cand forget 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read the file again to check that it is complete'
            cand restore 'Restore a backup, if there is no store yet or an empty one'
            cand open 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
            cand install 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
            cand uninstall 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
            cand prepare 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;provider;help;status'= {
        }
        &'pdpp;provider;help;grants'= {
        }
        &'pdpp;provider;help;revoke'= {
        }
        &'pdpp;provider;help;forget'= {
        }
        &'pdpp;provider;help;backup'= {
        }
        &'pdpp;provider;help;restore'= {
        }
        &'pdpp;provider;help;open'= {
        }
        &'pdpp;provider;help;serve'= {
        }
        &'pdpp;provider;help;passphrase'= {
        }
        &'pdpp;provider;help;install'= {
        }
        &'pdpp;provider;help;uninstall'= {
        }
        &'pdpp;provider;help;prepare'= {
        }
        &'pdpp;provider;help;help'= {
        }
        &'pdpp;sandbox'= {
            cand --listen 'Where to listen: a loopback address. Port 0 picks a free port'
            cand --data-dir 'Keep data, grants and clients in this directory [default: in memory]'
            cand --seed 'The seed for the made-up data of a new store. The same seed always makes the same data'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never secrets or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]'
            cand --ca-file 'Also trust the certificate authorities in this PEM file'
            cand --core 'Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and views are refused'
            cand --auto-approve 'For tests: approve every request without asking. Every program on this computer then gets a token, other users'' programs too'
            cand --json 'Print where it listens as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;help'= {
            cand demo 'See it work on this computer in about a second: an import, a grant and an agent''s questions'
            cand connect 'Get a grant from a provider: approve it in the browser, and keep its token on this computer'
            cand import 'Import your own exports into a store on this computer'
            cand status 'Show what is connected, until when, and whether it works'
            cand disconnect 'End grants, and delete their tokens from this computer'
            cand doctor 'Show what is wrong, and what to type to fix it'
            cand log 'Show what agents read through this computer'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff) of pdpp or of one of its commands'
            cand mcp 'Serve the granted data to MCP hosts, and set those hosts up'
            cand provider 'Your own data on this computer: what the store has, what you granted, and how to end a grant'
            cand sandbox 'Run a PDPP provider on this computer, with made-up data'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;help;demo'= {
        }
        &'pdpp;help;connect'= {
        }
        &'pdpp;help;import'= {
        }
        &'pdpp;help;status'= {
        }
        &'pdpp;help;disconnect'= {
        }
        &'pdpp;help;doctor'= {
        }
        &'pdpp;help;log'= {
        }
        &'pdpp;help;completions'= {
        }
        &'pdpp;help;man'= {
        }
        &'pdpp;help;mcp'= {
            cand serve 'Serve the granted data to an MCP host, on stdin and stdout'
            cand setup 'Set up MCP hosts on this computer to use pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views and their sizes'
            cand host 'Serve a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for one'
        }
        &'pdpp;help;mcp;serve'= {
        }
        &'pdpp;help;mcp;setup'= {
        }
        &'pdpp;help;mcp;inspect'= {
        }
        &'pdpp;help;mcp;call'= {
        }
        &'pdpp;help;mcp;host'= {
        }
        &'pdpp;help;mcp;bundle'= {
        }
        &'pdpp;help;provider'= {
            cand status 'Show what is in the store of your own data, account by account, and how old it is'
            cand grants 'Show the grants of your own data: who can read what, until when, and when it was last read'
            cand revoke 'End a grant of your own data: its token stops working at once'
            cand forget 'Delete an account from the store: its records, their index entries and its copies of attachments; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read the file again to check that it is complete'
            cand restore 'Restore a backup, if there is no store yet or an empty one'
            cand open 'Open the page of your own data in the browser: sources, grants, reads, imports and a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose or change the passphrase that every approval at `pdpp provider serve` needs'
            cand install 'Keep your own data where an agent with a shell cannot read it: in the store of a separate system user (needs root)'
            cand uninstall 'Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)'
            cand prepare 'Create an empty store with a passphrase, which is typed at the terminal or read from standard input: `pdpp provider install` runs this as the store''s own user'
        }
        &'pdpp;help;provider;status'= {
        }
        &'pdpp;help;provider;grants'= {
        }
        &'pdpp;help;provider;revoke'= {
        }
        &'pdpp;help;provider;forget'= {
        }
        &'pdpp;help;provider;backup'= {
        }
        &'pdpp;help;provider;restore'= {
        }
        &'pdpp;help;provider;open'= {
        }
        &'pdpp;help;provider;serve'= {
        }
        &'pdpp;help;provider;passphrase'= {
        }
        &'pdpp;help;provider;install'= {
        }
        &'pdpp;help;provider;uninstall'= {
        }
        &'pdpp;help;provider;prepare'= {
        }
        &'pdpp;help;sandbox'= {
        }
        &'pdpp;help;help'= {
        }
    ]
    $completions[$command]
}

# `pdpp __complete` supplies the values that only this machine knows; the script above does the rest. A provider may
# have chosen these values, so they are data: elvish quotes them, and nothing evaluates them.
var pdpp-definitions~ = $edit:completion:arg-completer[pdpp]
set edit:completion:arg-completer[pdpp] = {|@words|
    var lines = []
    var option = ''
    if (and (str:has-prefix $words[-1] '--') (str:contains $words[-1] '=')) {
        set option = (str:split &max=2 '=' $words[-1] | take 1)'='
    }
    try {
        set lines = [((external pdpp) __complete -- (all $words[1..]) 2>/dev/null </dev/null)]
    } catch e {
        nop $e
    }
    if (> (count $lines) 0) {
        for line $lines {
            var value = (str:split &max=2 "\t" $line | take 1)
            edit:complex-candidate $option$value &display=(str:replace "\t" '  ' $line)
        }
    } else {
        pdpp-definitions $@words
    }
}
