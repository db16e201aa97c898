
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
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand demo 'See it work: an import, a grant and an agent''s questions, on this machine, in a second'
            cand connect 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
            cand import 'Import your own exports into a store on this computer'
            cand status 'Show what is connected, until when, and whether it works'
            cand disconnect 'End grants, and delete their tokens from this machine'
            cand doctor 'Find out what is wrong, and what to type about it'
            cand log 'Show what agents read through this machine'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand mcp 'Offer the granted data to an MCP host'
            cand provider 'Your own data on this machine: what is there, what was granted of it, and how to end that'
            cand sandbox 'Run a PDPP provider on this computer, with fictional data'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;demo'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --full 'Show every answer whole, instead of its first lines'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;connect'= {
            cand --flow 'How to get the grant [default: what the provider offers; a device code, where it has that, over SSH, in a container or without a display]'
            cand --wait 'Stop waiting after so many seconds, 1 to 3600 [default: when the provider''s page ends]'
            cand --name 'Call the grant this, instead of what its sources are called'
            cand --store 'Where to keep the token; remembered [default: as before, else auto]'
            cand --grant 'Which one to renew: its id, the beginning of it, or its name, as `pdpp status` shows them'
            cand --account 'Tick this account beforehand: its id, or what it is called (repeatable)'
            cand --for 'Serve only this host with the grant, by the entry that `pdpp mcp setup HOST` writes'
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --source 'Ask for this source, where the provider has several'
            cand --instance 'Ask for this configured instance of the source (repeatable)'
            cand --stream 'Ask for this stream only (repeatable)'
            cand --field 'Ask for this field of a stream only, and those that the stream requires (repeatable)'
            cand --since 'Ask for records from this day on (2026-01-31, or a time in RFC 3339)'
            cand --until 'Ask for records from before this day'
            cand --expires 'Ask for access that ends then, or after a while (30d, 12h)'
            cand --purpose 'Say what the data is for: in words, or a purpose code (an https URI)'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --no-browser 'Open no browser; print an address of this machine, and the code that it asks for'
            cand --renew 'Ask again for a grant that is on this machine, and replace it: the old one is ended at its provider'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand --in-terminal 'Decide at this terminal, and open no page'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;import'= {
            cand --as 'Read it as this format; it is refused if it is another'
            cand --account 'Whose data it is: the name of the account'
            cand --timezone 'The time zone of times that name none, such as Europe/Oslo [default: the account''s, else this computer''s]'
            cand --date-order 'In which order numbers stand in dates: day, month, year'
            cand --since 'Leave out what is older than this day, YYYY-MM-DD, or than a time of it, YYYY-MM-DDTHH:MM'
            cand --data-dir 'Where the store is [default: where it was last, else own/ in the cache directory]'
            cand --report 'Write what could not be read to this file, one JSON object a line; what could not before is tried again'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --dry-run 'Show what would be imported, and change nothing'
            cand --copy-attachments 'Keep copies of attachments in the store; without it they are read from the export, which has to stay where it is'
            cand --yes 'Import what the plan shows without asking'
            cand --json 'Print the result as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;status'= {
            cand --provider 'Show only the grants of this provider'
            cand --grant 'Show only this grant: its id, the beginning of it, or its name'
            cand --move-to 'First move every token there: into the keyring, or into private files. New ones follow'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --check 'Ask each provider whether the grant still works'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;disconnect'= {
            cand --grant 'Only this grant of them'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --all 'Everything that matches; without a match to make, everything'
            cand --forget 'Delete here also what cannot be ended at its provider yet: its token cannot be read, or the provider is away'
            cand -y 'Do not ask; without a terminal nothing is ended unless this says so'
            cand --yes 'Do not ask; without a terminal nothing is ended unless this says so'
            cand --json 'Print one JSON object; asks nothing'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;doctor'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;log'= {
            cand --since 'Only calls since then: 30m, 2h, 7d, a date (UTC) or a time'
            cand --limit 'Show at most this many, the newest'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print one JSON object'
            cand --off 'Stop noting calls, in running servers too; it stays off until --on'
            cand --on 'Note calls again'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;completions'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;man'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand setup 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
            cand host 'Offer a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;mcp;serve'= {
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them'
            cand --for 'Serve only what was granted for this host alone (`pdpp connect local --for`)'
            cand --max-result-bytes 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --no-access-log 'Keep no note of the calls (see `pdpp log`)'
            cand --check-tokens 'Only say, as one JSON object, whether the tokens can be read here; asks no provider'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;setup'= {
            cand --name 'What the entry is called'
            cand --scope 'Whose config: yours, or the current directory''s, where the host reads one'
            cand --provider 'For chatgpt: the provider that it shall connect to [default: those that are connected]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --all 'Every host that is installed here'
            cand --remove 'Take the entry out again'
            cand --dry-run 'Show what would change, as a unified diff, and change nothing'
            cand -y 'Ask nothing: an entry of that name may go that starts something else or serves certain grants only, and what a project''s entry sets may stay'
            cand --yes 'Ask nothing: an entry of that name may go that starts something else or serves certain grants only, and what a project''s entry sets may stay'
            cand --print 'Print the entry to paste (and an install link, where the host has one) and change nothing'
            cand --strict 'Put the file back as it was if the recorded command does not start'
            cand --json 'Print one JSON object: the plan and what came of it'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;inspect'= {
            cand --budget 'Fail (exit code 1) if the tools array is larger than this'
            cand --timeout 'How long that server may take; one that is fetched first takes longer'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;call'= {
            cand --view 'Show only one view'
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them'
            cand --for 'Serve only what was granted for this host alone (`pdpp connect local --for`)'
            cand --max-result-bytes 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the whole result as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;host'= {
            cand --provider-url 'The provider'
            cand --listen 'Where to listen; port 0 takes a free one'
            cand --public-url 'Where clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]'
            cand --trusted-host 'Answer requests for this host too, beside the public URL''s own; again for more'
            cand --allowed-origin 'Let pages of this origin call it; again for more [default: none]'
            cand --introspection-file 'Credentials for introspection: {"client_id":…,"client_secret":…}, mode 600'
            cand --tls-cert 'Do TLS here, with this certificate chain (PEM)'
            cand --tls-key 'Its private key (PEM), mode 600'
            cand --metrics-listen 'Serve counters in Prometheus'' format at /metrics here, apart from the endpoint'
            cand --max-body-bytes 'The longest message'
            cand --max-result-bytes 'The most that either view of one result may take, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]'
            cand --requests-per-minute 'How often one bearer may ask, on average'
            cand --max-concurrent-per-bearer 'Requests of one bearer at once'
            cand --max-concurrent 'Requests at once'
            cand --max-connections 'Connections at once; for one more the oldest goes that asks nothing'
            cand --max-connections-per-address 'Connections at once from one address (IPv6: /64) [default: a quarter of --max-connections]'
            cand --trusted-proxy 'A proxy''s address, which that bound is not for; again for more. This machine''s own never has it'
            cand --drain 'How long requests may still take after SIGTERM'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --introspection-keyring 'Take them from the keyring instead'
            cand --json 'Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;bundle'= {
            cand --connect 'The provider to connect, if it is not connected yet; or `local`, for your own data on this machine'
            cand --import 'A folder or file with an export of yours: to be imported, and to be granted, if none of your own data is yet'
            cand --max-result-bytes 'The most that either view of one result may take, in bytes, from 4000 to 48000 [default: 8000 of text, 10000 of structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --no-access-log 'Keep no note of the calls (see `pdpp log`)'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;help'= {
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand setup 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
            cand host 'Offer a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
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
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand status 'Show what is in the store of your own data, account by account, and how old it is'
            cand grants 'Show what was granted of your own data, to whom, until when, and when it was last read'
            cand revoke 'End a grant of your own data: from the next read on its token is good for nothing'
            cand forget 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read it again to know that it is whole'
            cand restore 'Make a store of a backup, where there is none or one with nothing in it'
            cand open 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
            cand install 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
            cand uninstall 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
            cand prepare 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;provider;status'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;grants'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;revoke'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -y 'Ask nothing'
            cand --yes 'Ask nothing'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;forget'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand -y 'Ask nothing'
            cand --yes 'Ask nothing'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;backup'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --encrypt 'Encrypt it with a passphrase, which is asked for at the terminal; `age -d` can open it too'
            cand --overwrite 'Replace the file if it is there already'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;restore'= {
            cand --called 'What the person calls the file, where root has copied it'
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;open'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --no-browser 'Open no browser; print an address of this machine, and the code that it asks for'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;serve'= {
            cand --listen 'Where to listen: a loopback address; port 0 takes a free one'
            cand --public-url 'The https address that others reach this by, through a proxy or tunnel: https:// and a host'
            cand --public-listen 'Where that proxy or tunnel leads: another loopback address; what comes in there is from strangers'
            cand --owner-socket 'Serve one person as a service of another user: print no links and ask nothing, but answer on this socket. For the separate set-up, whose unit has it'
            cand --owner-uid 'The user id of that person: only they and root are heard there'
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --core 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;passphrase'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;install'= {
            cand --for 'The user whose data it is [default: whoever typed sudo]'
            cand --listen 'Where the service listens: a loopback address [default: as before, else a free port]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --dry-run 'Only show what would be made, the unit included'
            cand --no-start 'Make everything, and do not start the service: for containers and other systems without systemd'
            cand -y 'Ask nothing but the passphrase'
            cand --yes 'Ask nothing but the passphrase'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;uninstall'= {
            cand --for 'The user whose data it is [default: whoever typed sudo]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --delete-data 'Delete the data too, for good'
            cand --keep-data 'Keep the data, and do not ask: it is in kept-UID beside where it was then'
            cand -y 'Ask nothing; without --delete-data the data stays'
            cand --yes 'Ask nothing; without --delete-data the data stays'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;prepare'= {
            cand --data-dir 'Where your own data is [default: as before, else `own` beside the credentials]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;provider;help'= {
            cand status 'Show what is in the store of your own data, account by account, and how old it is'
            cand grants 'Show what was granted of your own data, to whom, until when, and when it was last read'
            cand revoke 'End a grant of your own data: from the next read on its token is good for nothing'
            cand forget 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read it again to know that it is whole'
            cand restore 'Make a store of a backup, where there is none or one with nothing in it'
            cand open 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
            cand install 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
            cand uninstall 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
            cand prepare 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user'
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
            cand --listen 'Where to listen: a loopback address; port 0 takes a free one'
            cand --data-dir 'Keep data, grants and clients in this directory [default: in memory]'
            cand --seed 'Which fictional life to fill a new store with; the same number makes the same one'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr: off, error, warn or info; never a secret or record data'
            cand --proxy 'Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and the like]'
            cand --ca-file 'Trust the certificate authorities in this PEM file too'
            cand --core 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused'
            cand --auto-approve 'Approve every request without asking anybody, so that every program on this computer, other users'' too, gets a token; for tests'
            cand --json 'Tell where it is as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;help'= {
            cand demo 'See it work: an import, a grant and an agent''s questions, on this machine, in a second'
            cand connect 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
            cand import 'Import your own exports into a store on this computer'
            cand status 'Show what is connected, until when, and whether it works'
            cand disconnect 'End grants, and delete their tokens from this machine'
            cand doctor 'Find out what is wrong, and what to type about it'
            cand log 'Show what agents read through this machine'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand mcp 'Offer the granted data to an MCP host'
            cand provider 'Your own data on this machine: what is there, what was granted of it, and how to end that'
            cand sandbox 'Run a PDPP provider on this computer, with fictional data'
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
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand setup 'Tell MCP hosts on this machine about pdpp, and prove that they can start it'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
            cand host 'Offer a provider''s data to remote MCP hosts, over HTTP'
            cand bundle 'Offer the granted data to a host that installed pdpp as a bundle, and get a grant first where its settings say so'
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
            cand grants 'Show what was granted of your own data, to whom, until when, and when it was last read'
            cand revoke 'End a grant of your own data: from the next read on its token is good for nothing'
            cand forget 'Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are'
            cand backup 'Write the store of your own data to one file, and read it again to know that it is whole'
            cand restore 'Make a store of a backup, where there is none or one with nothing in it'
            cand open 'Open the page of your own data in the browser: what is there, what was granted and read, imports, a search'
            cand serve 'Serve your own data to programs that speak HTTP, on this computer'
            cand passphrase 'Choose the passphrase that every approval at `pdpp provider serve` needs, or change it'
            cand install 'Keep your own data where an agent with a shell cannot read it: in a store of a system user of its own (needs root)'
            cand uninstall 'Take the separate set-up away: the service, its program, and the data if you say so (needs root)'
            cand prepare 'Make an empty store with a passphrase, which is typed at the terminal, else comes on standard input: what `pdpp provider install` runs as the store''s own user'
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

# Values that only this machine knows come from `pdpp __complete`; what is above does the rest. They are data that a
# provider may have chosen: elvish quotes them, nothing evaluates them.
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
