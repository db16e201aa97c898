
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
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;completions'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;man'= {
            cand --cache-dir 'Where credentials are kept [default: the platform''s data directory, e.g. ~/.local/share/pdpp]'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'pdpp;help'= {
            cand completions 'Print a shell completion script'
            cand man 'Print a manual page (roff), of pdpp or of one of its commands'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'pdpp;help;completions'= {
        }
        &'pdpp;help;man'= {
        }
        &'pdpp;help;help'= {
        }
    ]
    $completions[$command]
}
