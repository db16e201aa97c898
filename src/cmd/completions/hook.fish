
# Values that only this machine knows come from `pdpp __complete`. They are data that a provider may have chosen: fish
# quotes them, nothing evaluates them.
function __pdpp_values
    set -l words (commandline -opc) (commandline -ct)
    command pdpp __complete -- $words[2..-1] 2>/dev/null </dev/null
end
complete -c pdpp -n 'count (__pdpp_values) >/dev/null' -f -a '(__pdpp_values)'
