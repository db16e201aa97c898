
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
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand demo 'See it work: a provider, a grant and an agent''s five questions, on this machine, in a few seconds'
            cand connect 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand mcp 'Offer the granted data to an MCP host'
            cand sandbox 'Run a PDPP provider on this computer, with fictional data'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;demo'= {
            cand --seed 'Which made-up life the provider holds'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand --full 'Show every answer whole, instead of its first lines'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;connect'= {
            cand --source 'Ask for this source, where the provider has several'
            cand --instance 'Ask for this configured instance of the source (repeatable)'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand --no-browser 'Only print the approval URL; open no browser'
            cand --json 'Print the result, or the failure, as one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;completions'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;man'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;mcp;serve'= {
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant'
            cand --max-result-bytes 'The most that either view of one result may take, in bytes [default: 8000 of text, 10000 of structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;inspect'= {
            cand --budget 'Fail (exit code 1) if the tools array is larger than this'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand --json 'Print one JSON object'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;call'= {
            cand --view 'Show only one view'
            cand --provider 'Serve only the grants of this provider'
            cand --grant 'Serve only this grant'
            cand --max-result-bytes 'The most that either view of one result may take, in bytes [default: 8000 of text, 10000 of structured output]'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand --json 'Print the whole result as one JSON object'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;mcp;help'= {
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;mcp;help;serve'= {
        }
        &'pdpp;mcp;help;inspect'= {
        }
        &'pdpp;mcp;help;call'= {
        }
        &'pdpp;mcp;help;help'= {
        }
        &'pdpp;sandbox'= {
            cand --listen 'Where to listen: a loopback address; port 0 takes a free one'
            cand --data-dir 'Keep data, grants and clients in this directory [default: in memory]'
            cand --seed 'Which fictional life to fill a new store with; the same number makes the same one'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand --core 'Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters, expansion and views are refused'
            cand --auto-approve 'Approve every request without asking anybody; for tests'
            cand --json 'Tell where it is as one line of JSON on stdout: {"url":…,"pid":…}'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand import 'Add records to a kept sandbox, from PDPP RECORD envelopes'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;sandbox;import'= {
            cand --connector 'The kind of source: one that is there (`mail`), or a new one, whose fields are inferred'
            cand --connection 'The account, by its id'
            cand --name 'What to call a new account'
            cand --data-dir 'The sandbox''s directory'
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand --log-level 'How much to log to stderr; never a secret or record data'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;sandbox;help'= {
            cand import 'Add records to a kept sandbox, from PDPP RECORD envelopes'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;sandbox;help;import'= {
        }
        &'pdpp;sandbox;help;help'= {
        }
        &'pdpp;help'= {
            cand demo 'See it work: a provider, a grant and an agent''s five questions, on this machine, in a few seconds'
            cand connect 'Get a grant from a provider: approve it in the browser, keep a scoped token on this machine'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand mcp 'Offer the granted data to an MCP host'
            cand sandbox 'Run a PDPP provider on this computer, with fictional data'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;help;demo'= {
        }
        &'pdpp;help;connect'= {
        }
        &'pdpp;help;completions'= {
        }
        &'pdpp;help;man'= {
        }
        &'pdpp;help;mcp'= {
            cand serve 'Offer the granted data to an MCP host, on stdin and stdout'
            cand inspect 'Show the tools and what they cost a model''s context'
            cand call 'Call one tool and show what a host would get: both views, and their sizes'
        }
        &'pdpp;help;mcp;serve'= {
        }
        &'pdpp;help;mcp;inspect'= {
        }
        &'pdpp;help;mcp;call'= {
        }
        &'pdpp;help;sandbox'= {
            cand import 'Add records to a kept sandbox, from PDPP RECORD envelopes'
        }
        &'pdpp;help;sandbox;import'= {
        }
        &'pdpp;help;help'= {
        }
    ]
    $completions[$command]
}
